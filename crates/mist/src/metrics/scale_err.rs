//! Error of the detected boxes' size, for scenes with instances of several scales.

use std::borrow::Borrow;

use super::image_result::ImageResult;
use super::one_to_one::{LabelRule, one_to_one_pairs};
use super::ratio::Ratio;

/// One image's share of [`scale_err`]: summed errors, out of two sides a matched pair.
pub fn scale_err_of(image: &ImageResult, min_iou: f64) -> Ratio {
    one_to_one_pairs(image, min_iou, LabelRule::Ignored)
        .into_iter()
        .map(|pair| {
            let truth = image.truths[pair.truth].bounds;
            let found = image.detections[pair.detection].bounds;
            let error = side_error_nats(truth.width_px(), found.width_px())
                + side_error_nats(truth.height_px(), found.height_px());
            Ratio {
                numerator: error,
                denominator: 2.0,
            }
        })
        .sum()
}

/// Mean over the sides of matched boxes of |ln(detected side / true side)|, in nats: .0953 is a
/// side 10% too long, and ln 2 = .693 one twice or half as long.
///
/// Boxes are matched one-to-one at an IoU of at least `min_iou`, whatever their class; unmatched
/// boxes have no say. `None` without a match.
pub fn scale_err<R: Borrow<ImageResult>>(images: &[R], min_iou: f64) -> Option<f64> {
    images
        .iter()
        .map(|image| scale_err_of(image.borrow(), min_iou))
        .sum::<Ratio>()
        .value()
}

/// Boxes that overlap have positive sides, so that the logarithm is finite.
fn side_error_nats(true_px: f32, found_px: f32) -> f64 {
    (f64::from(found_px) / f64::from(true_px)).ln().abs()
}

#[cfg(test)]
mod tests {
    use std::f64::consts::LN_2;

    use proptest::prelude::*;

    use super::super::samples::{detection, image, random_images, truth};
    use super::*;

    #[test]
    fn half_and_double_err_alike() {
        let seen = image(
            &[
                truth(0.0, 0.0, 4.0, 4.0, 0),
                truth(10.0, 0.0, 12.0, 4.0, 0),
                truth(30.0, 0.0, 31.0, 1.0, 0),
            ],
            &[
                detection(0.0, 0.0, 2.0, 4.0, 1, 0.0),   // width halved
                detection(10.0, 0.0, 14.0, 4.0, 2, 0.0), // width doubled
            ],
        );
        // ln 2 on two of four sides.
        assert!((scale_err(&[&seen], 0.5).unwrap() - LN_2 / 2.0).abs() < 1e-15);
        assert_eq!(scale_err(&[seen], 0.6), None);
    }

    proptest! {
        #[test]
        fn bounded_by_the_overlap(images in random_images()) {
            // At IoU >= 1/2 no side is more than twice the other's.
            prop_assert!(
                scale_err(&images, 0.5).is_none_or(|error| (0.0..=LN_2 + 1e-6).contains(&error))
            );
        }
    }
}
