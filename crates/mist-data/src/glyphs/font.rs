//! Ten shapes made of strokes.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_3, PI, TAU};
use std::sync::LazyLock;

/// A corner of a stroke; shapes span -1..1 on both axes, y downwards.
#[derive(Debug, Clone, Copy)]
pub(super) struct Corner {
    pub x: f64,
    pub y: f64,
}

/// A line through its corners.
pub(super) type Stroke = Vec<Corner>;

/// Names of the shapes, by class.
pub(crate) const NAMES: [&str; 10] = [
    "cross", "ring", "triangle", "square", "tee", "ell", "zed", "arrow", "asterisk", "wave",
];

/// The shapes, by class.
pub(super) static SHAPES: LazyLock<[Vec<Stroke>; NAMES.len()]> = LazyLock::new(|| {
    [
        vec![
            line(&[(-1.0, 0.0), (1.0, 0.0)]),
            line(&[(0.0, -1.0), (0.0, 1.0)]),
        ],
        vec![curve(24, |t| {
            (0.95 * libm::cos(TAU * t), 0.95 * libm::sin(TAU * t))
        })],
        vec![line(&[(0.0, -1.0), (1.0, 0.8), (-1.0, 0.8), (0.0, -1.0)])],
        vec![line(&[
            (-0.85, -0.85),
            (0.85, -0.85),
            (0.85, 0.85),
            (-0.85, 0.85),
            (-0.85, -0.85),
        ])],
        vec![
            line(&[(-1.0, -0.9), (1.0, -0.9)]),
            line(&[(0.0, -0.9), (0.0, 1.0)]),
        ],
        vec![line(&[(-0.7, -1.0), (-0.7, 0.9), (0.8, 0.9)])],
        vec![line(&[
            (-0.85, -0.9),
            (0.85, -0.9),
            (-0.85, 0.9),
            (0.85, 0.9),
        ])],
        vec![
            line(&[(-1.0, 0.0), (1.0, 0.0)]),
            line(&[(0.2, -0.8), (1.0, 0.0), (0.2, 0.8)]),
        ],
        (0..3)
            .map(|arm| spoke(FRAC_PI_2 + f64::from(arm) * FRAC_PI_3))
            .collect(),
        vec![curve(18, |t| {
            (2.0 * t - 1.0, 0.75 * libm::sin(3.0 * PI * t))
        })],
    ]
});

fn line(corners: &[(f64, f64)]) -> Stroke {
    corners.iter().map(|&(x, y)| Corner { x, y }).collect()
}

fn curve(segments: u32, at: impl Fn(f64) -> (f64, f64)) -> Stroke {
    let corner = |step| {
        let (x, y) = at(f64::from(step) / f64::from(segments));
        Corner { x, y }
    };
    (0..=segments).map(corner).collect()
}

fn spoke(angle_rad: f64) -> Stroke {
    let (sin, cos) = libm::sincos(angle_rad);
    line(&[(-cos, -sin), (cos, sin)])
}
