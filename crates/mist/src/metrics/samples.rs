//! Boxes and random images for the tests of the metrics.

use proptest::collection::vec;
use proptest::prelude::*;

use super::image_result::ImageResult;
use crate::geometry::PixelBox;
use crate::geometry::{Detection, Truth};

pub(super) const CLASS_COUNT: usize = 3;

fn bounds(x_min_px: f32, y_min_px: f32, x_max_px: f32, y_max_px: f32) -> PixelBox {
    PixelBox {
        x_min_px,
        y_min_px,
        x_max_px,
        y_max_px,
    }
}

pub(super) fn truth(x0: f32, y0: f32, x1: f32, y1: f32, label: usize) -> Truth {
    Truth {
        bounds: bounds(x0, y0, x1, y1),
        label,
    }
}

pub(super) fn detection(x0: f32, y0: f32, x1: f32, y1: f32, label: usize, score: f32) -> Detection {
    Detection {
        bounds: bounds(x0, y0, x1, y1),
        label,
        score,
    }
}

/// An image with the given lists.
pub(super) fn image(truths: &[Truth], detections: &[Detection]) -> ImageResult {
    ImageResult {
        truths: truths.to_vec(),
        detections: detections.to_vec(),
    }
}

/// A coordinate in a space so small that boxes often overlap, now and then not a number.
fn coordinate() -> impl Strategy<Value = f32> {
    prop_oneof![
        60 => (0_u8..48).prop_map(|quarter| f32::from(quarter) / 4.0),
        1 => Just(f32::NAN),
        1 => Just(f32::INFINITY),
        1 => Just(f32::MAX),
    ]
}

/// A box around a centre, of any side from 0 (empty) to 8 px.
fn random_bounds() -> impl Strategy<Value = PixelBox> {
    (coordinate(), coordinate(), 0_u8..=8, 0_u8..=8).prop_map(|(x, y, width, height)| {
        PixelBox::from_centre(x, y, f32::from(width), f32::from(height))
    })
}

fn random_image() -> impl Strategy<Value = ImageResult> {
    let truth =
        (random_bounds(), 0..CLASS_COUNT).prop_map(|(bounds, label)| Truth { bounds, label });
    let score = prop_oneof![
        20 => (0_u8..8).prop_map(|eighth| f32::from(eighth) / 8.0),
        1 => Just(f32::NAN),
    ];
    let detection =
        (random_bounds(), 0..CLASS_COUNT, score).prop_map(|(bounds, label, score)| Detection {
            bounds,
            label,
            score,
        });
    (vec(truth, 0..7), vec(detection, 0..7))
        .prop_map(|(truths, detections)| ImageResult { truths, detections })
}

pub(super) fn random_images() -> impl Strategy<Value = Vec<ImageResult>> {
    vec(random_image(), 0..5)
}

/// Whether a metric is undefined or a fraction.
pub(super) fn is_fraction(value: Option<f64>) -> bool {
    value.is_none_or(|value| (0.0..=1.0).contains(&value))
}
