//! Jittered grids.

use crate::bridson::{Domain, Spot};
use crate::random::SceneRng;

/// MNIST-easy (paper, section 4): one spot per cell in reading order, with Gaussian jitter of an
/// eighth of the cell.
pub(super) fn gaussian(
    canvas_px: i32,
    cells_per_side: usize,
    domain: Domain,
    rng: &mut SceneRng,
) -> Vec<Spot> {
    let cell_px = f64::from(canvas_px) / cells_per_side as f64;
    let (first_px, last_px) = (f64::from(domain.first_px), f64::from(domain.last_px));
    let place = |cell: usize, normal: f64| {
        let centre_px = (cell as f64 + 0.5) * cell_px + normal * cell_px / 8.0;
        centre_px.round().clamp(first_px, last_px) as i32
    };
    (0..cells_per_side * cells_per_side)
        .map(|index| {
            let [normal_x, normal_y] = rng.normals().map(f64::from);
            Spot {
                x_px: place(index % cells_per_side, normal_x),
                y_px: place(index / cells_per_side, normal_y),
            }
        })
        .collect()
}

/// The coarsest grid that holds `count` spots, jittered as far as the minimum distance allows.
pub(super) fn spaced(
    count: usize,
    domain: Domain,
    min_distance_px: i32,
    rng: &mut SceneRng,
) -> Vec<Spot> {
    let per_side = (1..).find(|side| side * side >= count).unwrap_or(1);
    let step_px = (domain.last_px - domain.first_px) / (per_side as i32 - 1).max(1);
    let slack_px = ((step_px - min_distance_px) / 2).max(0);
    let mut place = |cell: usize| {
        let node_px = domain.first_px + cell as i32 * step_px;
        let jittered_px = node_px + rng.whole(-slack_px, slack_px);
        jittered_px.clamp(domain.first_px, domain.last_px)
    };
    let mut spots: Vec<Spot> = (0..per_side * per_side)
        .map(|index| Spot {
            x_px: place(index % per_side),
            y_px: place(index / per_side),
        })
        .collect();
    rng.choose(&mut spots, count);
    spots
}
