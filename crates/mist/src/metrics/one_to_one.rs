//! Precision, recall and F1 under the best one-to-one matching of boxes.
//!
//! The paper's *IoU 50%* lets one detection serve many truths, and its *Both* depends on the order
//! of the truths; these do neither.

use std::borrow::Borrow;

use serde::{Deserialize, Serialize};

use super::assignment::heaviest_pairs;
use super::image_result::{ImageResult, overlap};
use super::pairing::Pair;
use super::ratio::MatchCounts;

/// Whether a truth and a detection must agree in class to match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelRule {
    /// Only the boxes matter.
    Ignored,
    /// The labels must be equal.
    Equal,
}

/// The pairs with the greatest total IoU, among pairs with an IoU of at least `min_iou`.
///
/// Boxes that do not overlap never pair, whatever `min_iou`; a `min_iou` of NaN pairs nothing.
pub fn one_to_one_pairs(image: &ImageResult, min_iou: f64, labels: LabelRule) -> Vec<Pair> {
    heaviest_pairs(
        image.truths.len(),
        image.detections.len(),
        |truth, detection| {
            let (truth, detection) = (&image.truths[truth], &image.detections[detection]);
            let iou = overlap(truth, detection);
            let may_pair = labels == LabelRule::Ignored || truth.label == detection.label;
            (may_pair && iou >= min_iou).then_some(iou)
        },
    )
}

/// One image's counts under [`one_to_one_pairs`].
pub fn one_to_one_of(image: &ImageResult, min_iou: f64, labels: LabelRule) -> MatchCounts {
    MatchCounts {
        matched: one_to_one_pairs(image, min_iou, labels).len(),
        truths: image.truths.len(),
        detections: image.detections.len(),
    }
}

/// The counts of all images together; they give precision, recall and F1.
pub fn one_to_one<R: Borrow<ImageResult>>(
    images: &[R],
    min_iou: f64,
    labels: LabelRule,
) -> MatchCounts {
    images
        .iter()
        .map(|image| one_to_one_of(image.borrow(), min_iou, labels))
        .sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::samples::{detection, image, is_fraction, random_images, truth};
    use super::*;

    #[test]
    fn finds_the_pairing_that_greedy_misses() {
        // Truth 0..10 overlaps 0..9 by 9/10 and 2..12 by 8/12; truth 1..9 overlaps 0..9 by 8/9 and
        // 2..12 by 7/11. In order 0-0, 1-1: .9 + .636; crossed: .667 + .889. Crossed wins.
        let mut seen = image(
            &[truth(0.0, 0.0, 10.0, 1.0, 0), truth(1.0, 0.0, 9.0, 1.0, 1)],
            &[
                detection(0.0, 0.0, 9.0, 1.0, 0, 0.0),
                detection(2.0, 0.0, 12.0, 1.0, 0, 0.0),
            ],
        );
        let expected = [
            Pair {
                truth: 0,
                detection: 1,
            },
            Pair {
                truth: 1,
                detection: 0,
            },
        ];
        assert_eq!(one_to_one_pairs(&seen, 0.5, LabelRule::Ignored), expected);
        // Truth 1 has no detection of its class; truth 0 is then free to take the better one.
        let expected = [Pair {
            truth: 0,
            detection: 0,
        }];
        assert_eq!(one_to_one_pairs(&seen, 0.5, LabelRule::Equal), expected);

        seen.detections
            .push(detection(50.0, 0.0, 60.0, 1.0, 0, 0.0));
        // Two of two truths, two of three detections; 2 * 2 / 5.
        let counts = one_to_one(&[&seen], 0.5, LabelRule::Ignored);
        assert_eq!(counts.precision(), Some(2.0 / 3.0));
        assert_eq!(counts.recall(), Some(1.0));
        assert_eq!(counts.f1(), Some(0.8));
    }

    #[test]
    fn one_half_is_enough_and_nan_is_not() {
        let half = image(
            &[truth(0.0, 0.0, 2.0, 1.0, 0)],
            &[detection(0.0, 0.0, 1.0, 1.0, 0, 0.0)],
        );
        assert_eq!(one_to_one_of(&half, 0.5, LabelRule::Equal).matched, 1);
        assert_eq!(one_to_one_of(&half, f64::NAN, LabelRule::Equal).matched, 0);
    }

    fn total_iou(image: &ImageResult) -> f64 {
        one_to_one_pairs(image, 0.5, LabelRule::Ignored)
            .iter()
            .map(|pair| overlap(&image.truths[pair.truth], &image.detections[pair.detection]))
            .sum()
    }

    proptest! {
        #[test]
        fn fractions_with_a_total_that_no_order_changes(mut images in random_images()) {
            for labels in [LabelRule::Ignored, LabelRule::Equal] {
                let counts = one_to_one(&images, 0.5, labels);
                let rates = [counts.precision(), counts.recall(), counts.f1()];
                prop_assert!(rates.into_iter().all(is_fraction));
            }
            for image in &mut images {
                let before = total_iou(image);
                image.truths.reverse();
                let half = image.detections.len() / 2;
                image.detections.rotate_left(half);
                prop_assert!((total_iou(image) - before).abs() < 1e-12);
            }
        }
    }
}
