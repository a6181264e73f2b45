//! *Both* of the paper's Tables 2 and 3: found and classified.

use std::borrow::Borrow;

use super::image_result::{ImageResult, overlap};
use super::pairing::greedy_pairs;
use super::ratio::MatchCounts;

/// One image's matches: each truth, in order, takes the free detection of its class that overlaps
/// it most, if their IoU is at least .5.
///
/// The precision and F1 of these counts are the released evaluator's for digits.
pub fn both_of(image: &ImageResult) -> MatchCounts {
    let pairs = greedy_pairs(
        image.truths.len(),
        image.detections.len(),
        |truth, detection| {
            let (truth, detection) = (&image.truths[truth], &image.detections[detection]);
            let iou = overlap(truth, detection);
            (truth.label == detection.label && iou >= 0.5).then_some(iou)
        },
    );
    MatchCounts {
        matched: pairs.len(),
        truths: image.truths.len(),
        detections: image.detections.len(),
    }
}

/// Share of the truths that have a detection of their class with an IoU of at least .5, each
/// detection used once; greedy in the order of the truths. `None` without truths.
pub fn both<R: Borrow<ImageResult>>(images: &[R]) -> Option<f64> {
    images
        .iter()
        .map(|image| both_of(image.borrow()))
        .sum::<MatchCounts>()
        .recall()
}

/// As [`both`] over the first `k` truths of each image only; the released evaluator never sees the
/// others.
pub fn both_official<R: Borrow<ImageResult>>(images: &[R], k: Option<usize>) -> Option<f64> {
    let kept = |image: &R| both_of(&image.borrow().with_first_truths(k));
    images.iter().map(kept).sum::<MatchCounts>().recall()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::iou50::iou50;
    use super::super::samples::{detection, image, is_fraction, random_images, truth};
    use super::*;
    use crate::geometry::Detection;

    #[test]
    fn label_overlap_and_use_once() {
        let seen = image(
            &[
                truth(0.0, 0.0, 2.0, 1.0, 1),
                truth(0.0, 0.0, 2.0, 1.0, 1),
                truth(10.0, 0.0, 12.0, 1.0, 2),
                truth(20.0, 0.0, 22.0, 1.0, 0),
            ],
            &[
                detection(0.0, 0.0, 1.0, 1.0, 1, 0.1), // IoU exactly 1/2: enough, once
                detection(10.0, 0.0, 12.0, 1.0, 3, 0.9), // wrong class
                detection(20.0, 0.0, 22.0, 1.0, 0, 0.5), // right
            ],
        );
        assert_eq!(both(&[&seen]), Some(2.0 / 4.0));
        // Without the fourth truth: 1 of 3.
        assert_eq!(both_official(&[&seen], Some(3)), Some(1.0 / 3.0));
        let counts = both_of(&seen);
        assert_eq!(
            (counts.precision(), counts.f1()),
            (Some(2.0 / 3.0), Some(4.0 / 7.0))
        );
    }

    #[test]
    fn empty_lists_are_defined() {
        assert_eq!(both::<ImageResult>(&[]), None);
        assert_eq!(
            both(&[image(&[truth(0.0, 0.0, 1.0, 1.0, 0)], &[])]),
            Some(0.0)
        );
    }

    proptest! {
        #[test]
        fn a_fraction_whatever_the_order_of_images(mut images in random_images()) {
            let value = both(&images);
            prop_assert!(is_fraction(value));
            images.reverse();
            prop_assert_eq!(both(&images), value);
        }

        #[test]
        fn whole_where_every_truth_was_found_exactly(mut images in random_images()) {
            for image in &mut images {
                image.truths.retain(|t| t.bounds.iou(t.bounds) == 1.0);
                image.detections = image
                    .truths
                    .iter()
                    .map(|t| Detection { bounds: t.bounds, label: t.label, score: 0.0 })
                    .collect();
            }
            prop_assert!(both(&images).is_none_or(|value| value == 1.0));
            prop_assert_eq!(both(&images), iou50(&images));
        }
    }
}
