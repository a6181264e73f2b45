//! Precision, recall and F1 on natural images (the paper's Table 4), where only centres count.

use std::borrow::Borrow;

use super::image_result::ImageResult;
use super::one_to_one::LabelRule;
use super::pairing::{Pair, greedy_pairs};
use super::ratio::MatchCounts;
use crate::geometry::{Detection, Truth};

/// One image's matches: each truth, in order, takes the nearest free detection of its class whose
/// centre lies in the true box, edges included.
///
/// Near is meant in units of the true box's half sides. Truths and detections of the `background`
/// class are left out of the counts.
pub fn centre_of(image: &ImageResult, background: usize) -> MatchCounts {
    let foreground = image.without_label(background);
    MatchCounts {
        matched: centre_pairs(&foreground, LabelRule::Equal).len(),
        truths: foreground.truths.len(),
        detections: foreground.detections.len(),
    }
}

/// The pairs that [`centre_of`] counts, of an image without background; or whatever the labels.
pub fn centre_pairs(image: &ImageResult, labels: LabelRule) -> Vec<Pair> {
    let (truths, detections) = (&image.truths, &image.detections);
    greedy_pairs(truths.len(), detections.len(), |truth, detection| {
        let (truth, detection) = (&truths[truth], &detections[detection]);
        let offset_frac = centre_offset_frac(truth, detection)?;
        let may_pair = labels == LabelRule::Ignored || truth.label == detection.label;
        (may_pair && offset_frac <= 1.0).then_some(-offset_frac)
    })
}

/// The counts of all images together; they give precision, recall and F1 of Table 4.
pub fn centre<R: Borrow<ImageResult>>(images: &[R], background: usize) -> MatchCounts {
    images
        .iter()
        .map(|image| centre_of(image.borrow(), background))
        .sum()
}

/// `max(|dx| / (w / 2), |dy| / (h / 2))` with the true box's sides; `None` if either is undefined,
/// as it is for a box without width or height.
fn centre_offset_frac(truth: &Truth, detection: &Detection) -> Option<f64> {
    let (true_x_px, true_y_px) = truth.bounds.centre_px();
    let (found_x_px, found_y_px) = detection.bounds.centre_px();
    let along = |found_px: f32, true_px: f32, side_px: f32| {
        (f64::from(found_px) - f64::from(true_px)).abs() / (f64::from(side_px) / 2.0)
    };
    let x_frac = along(found_x_px, true_x_px, truth.bounds.width_px());
    let y_frac = along(found_y_px, true_y_px, truth.bounds.height_px());
    // `max` skips NaN, and would let the other axis decide alone.
    (x_frac.is_finite() && y_frac.is_finite()).then(|| x_frac.max(y_frac))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::samples::{detection, image, is_fraction, random_images, truth};
    use super::*;

    /// A 2-px detection around a centre.
    fn found(x_px: f32, y_px: f32, label: usize) -> Detection {
        detection(x_px - 1.0, y_px - 1.0, x_px + 1.0, y_px + 1.0, label, 1.0)
    }

    #[test]
    fn a_centre_counts_up_to_the_edge_of_the_true_box() {
        let at = |x_px, y_px| {
            let seen = image(&[truth(0.0, 0.0, 8.0, 4.0, 1)], &[found(x_px, y_px, 1)]);
            centre_of(&seen, 0).matched
        };
        assert_eq!((at(4.0, 2.0), at(8.0, 4.0), at(0.0, 0.0)), (1, 1, 1));
        assert_eq!((at(8.25, 2.0), at(4.0, 4.25), at(f32::NAN, 2.0)), (0, 0, 0));
    }

    #[test]
    fn background_is_left_out_and_each_detection_serves_once() {
        let seen = image(
            &[
                truth(0.0, 0.0, 8.0, 4.0, 1),
                truth(2.0, 0.0, 10.0, 4.0, 1),
                truth(0.0, 0.0, 80.0, 40.0, 0),
            ],
            &[
                found(4.0, 2.0, 1),
                found(6.0, 2.0, 2),
                found(30.0, 2.0, 1),
                found(4.0, 2.0, 0),
            ],
        );
        // Foreground: 2 truths, 3 detections; the only detection of class 1 inside goes to truth 0.
        let counts = centre(&[&seen], 0);
        assert_eq!(
            counts,
            MatchCounts {
                matched: 1,
                truths: 2,
                detections: 3
            }
        );
        assert_eq!(counts.f1(), Some(2.0 / 5.0));
    }

    #[test]
    fn a_box_without_extent_holds_no_centre() {
        let flat = image(&[truth(4.0, 0.0, 4.0, 4.0, 1)], &[found(4.0, 2.0, 1)]);
        assert_eq!(centre_of(&flat, 0).matched, 0);
    }

    proptest! {
        #[test]
        fn fractions_whatever_the_order_of_images(mut images in random_images()) {
            let counts = centre(&images, 0);
            let rates = [counts.precision(), counts.recall(), counts.f1()];
            prop_assert!(rates.into_iter().all(is_fraction));
            images.reverse();
            prop_assert_eq!(centre(&images, 0), counts);
        }
    }
}
