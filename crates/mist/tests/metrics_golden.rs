//! Every metric against `python/golden/metrics.py`, a separate implementation on NumPy and SciPy.

use std::collections::BTreeMap;
use std::path::Path;

use mist::geometry::{Detection, Keypoint, PixelBox, Truth};
use mist::metrics::{
    Evaluation, EvaluationConfig, Evidence, ImageResult, Interpolation, LabelRule, MatchRule,
    SquaredError, ap50, ap50_class_blind, impulse_of, one_to_one,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    class_count: usize,
    radius_px: f64,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    images: Vec<Boxes>,
    impulses: Vec<Points>,
    pictures: Vec<Pixels>,
    official_k: usize,
    background: usize,
    iou_rule: BTreeMap<String, f64>,
    centre_rule: BTreeMap<String, f64>,
    ap50_eleven_point: Option<f64>,
    ap50_class_blind_eleven_point: Option<f64>,
    class_blind_pairs: usize,
}

/// Rows of left, top, right, bottom, label, and for detections the score.
#[derive(Deserialize)]
struct Boxes {
    truths: Vec<(f32, f32, f32, f32, usize)>,
    detections: Vec<(f32, f32, f32, f32, usize, f32)>,
}

#[derive(Deserialize)]
struct Points {
    truths: Vec<(f32, f32)>,
    found: Vec<(f32, f32)>,
}

#[derive(Deserialize)]
struct Pixels {
    expected: Vec<f32>,
    actual: Vec<f32>,
}

impl Boxes {
    fn to_image(&self) -> ImageResult {
        let bounds = |x_min_px, y_min_px, x_max_px, y_max_px| PixelBox {
            x_min_px,
            y_min_px,
            x_max_px,
            y_max_px,
        };
        let truth = |&(x0, y0, x1, y1, label): &_| Truth {
            bounds: bounds(x0, y0, x1, y1),
            label,
        };
        let detection = |&(x0, y0, x1, y1, label, score): &_| Detection {
            bounds: bounds(x0, y0, x1, y1),
            label,
            score,
        };
        ImageResult {
            truths: self.truths.iter().map(truth).collect(),
            detections: self.detections.iter().map(detection).collect(),
        }
    }
}

fn keypoints(points: &[(f32, f32)]) -> Vec<Keypoint> {
    let keypoint = |&(x_px, y_px): &_| Keypoint {
        x_px,
        y_px,
        scale: 1.0,
    };
    points.iter().map(keypoint).collect()
}

fn assert_close(found: Option<f64>, expected: Option<f64>, what: &str) {
    match found.zip(expected) {
        Some((found, expected)) => {
            assert!(
                (found - expected).abs() < 1e-9,
                "{what}: {found}, not {expected}"
            );
        }
        None => assert_eq!(found, expected, "{what}"),
    }
}

fn assert_metrics(found: &Evaluation, expected: &BTreeMap<String, f64>, case: &str) {
    let found: BTreeMap<&str, f64> = found.metrics.iter().map(|(n, &v)| (n, v)).collect();
    let names = |found: Vec<&str>| found.join(" ");
    assert_eq!(
        names(found.keys().copied().collect()),
        names(expected.keys().map(String::as_str).collect()),
        "{case}"
    );
    for (name, value) in found {
        assert_close(
            Some(value),
            expected.get(name).copied(),
            &format!("{case}, {name}"),
        );
    }
}

#[test]
fn all_metrics_agree_with_numpy() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/metrics.json");
    let text = std::fs::read_to_string(path).unwrap();
    let golden: Golden = serde_json::from_str(&text).unwrap();
    assert_eq!(golden.cases.len(), 20);

    for (number, case) in golden.cases.iter().enumerate() {
        let images: Vec<_> = case.images.iter().map(Boxes::to_image).collect();
        let impulses: Vec<_> = case
            .impulses
            .iter()
            .map(|scene| {
                let (truths, found) = (keypoints(&scene.truths), keypoints(&scene.found));
                impulse_of(&truths, &found, golden.radius_px)
            })
            .collect();
        let reconstructions: Vec<_> = case
            .pictures
            .iter()
            .map(|picture| SquaredError::between(&picture.expected, &picture.actual).unwrap())
            .collect();
        let evaluate = |rule| {
            let evidence = Evidence {
                images: &images,
                reconstructions: &reconstructions,
                impulses: &impulses,
                kernel_corr: None,
            };
            let config = EvaluationConfig {
                class_count: golden.class_count,
                rule,
                official_k: Some(case.official_k),
                bootstrap: None,
            };
            Evaluation::new(evidence, &config)
        };

        let by_iou = evaluate(MatchRule::Iou);
        assert_metrics(&by_iou, &case.iou_rule, &format!("case {number}, IoU rule"));
        let by_centre = evaluate(MatchRule::Centre {
            background: case.background,
        });
        assert_metrics(
            &by_centre,
            &case.centre_rule,
            &format!("case {number}, centre rule"),
        );
        assert_close(
            ap50(&images, Interpolation::ElevenPoint),
            case.ap50_eleven_point,
            &format!("case {number}, eleven-point AP"),
        );
        assert_close(
            ap50_class_blind(&images, Interpolation::ElevenPoint),
            case.ap50_class_blind_eleven_point,
            &format!("case {number}, class-blind eleven-point AP"),
        );
        let blind = one_to_one(&images, 0.5, LabelRule::Ignored);
        assert_eq!(blind.matched, case.class_blind_pairs, "case {number}");
    }
}
