//! *IoU 50%* of the paper's Tables 2 and 3.

use std::borrow::Borrow;

use super::image_result::{ImageResult, overlap};
use super::ratio::Ratio;

/// One image's share: true boxes whose best IoU over the detections is above .5, out of all of
/// them.
pub fn iou50_of(image: &ImageResult) -> Ratio {
    let is_covered = |truth| {
        image
            .detections
            .iter()
            .any(|detection| overlap(truth, detection) > 0.5)
    };
    let covered = image
        .truths
        .iter()
        .filter(|truth| is_covered(truth))
        .count();
    Ratio::of_counts(covered, image.truths.len())
}

/// Share of true boxes whose best IoU over the detections is above .5.
///
/// Classes do not matter, and one detection may cover several truths. `None` without truths.
pub fn iou50<R: Borrow<ImageResult>>(images: &[R]) -> Option<f64> {
    images
        .iter()
        .map(|image| iou50_of(image.borrow()))
        .sum::<Ratio>()
        .value()
}

/// As [`iou50`] over the first `k` truths of each image only; the released evaluator never sees the
/// others.
///
/// It also divides by the number of predicted boxes, which is the number of truths wherever every
/// image holds exactly K; this divides by the truths kept.
pub fn iou50_official<R: Borrow<ImageResult>>(images: &[R], k: Option<usize>) -> Option<f64> {
    let kept = |image: &R| iou50_of(&image.borrow().with_first_truths(k));
    images.iter().map(kept).sum::<Ratio>().value()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::samples::{detection, image, is_fraction, random_images, truth};
    use super::*;

    #[test]
    fn one_detection_may_cover_two_truths_of_any_class() {
        // IoU of 0..10 with 0..9 is .9, of 1..11 with 0..9 is 8/11; 20..30 meets nothing.
        let seen = image(
            &[
                truth(0.0, 0.0, 10.0, 1.0, 1),
                truth(1.0, 0.0, 11.0, 1.0, 2),
                truth(20.0, 0.0, 30.0, 1.0, 3),
            ],
            &[detection(0.0, 0.0, 9.0, 1.0, 3, 0.9)],
        );
        assert_eq!(iou50(&[&seen]), Some(2.0 / 3.0));
        assert_eq!(iou50_official(&[&seen], Some(2)), Some(1.0));
        assert_eq!(iou50_official(&[&seen], None), iou50(&[&seen]));
    }

    #[test]
    fn exactly_one_half_is_not_enough() {
        // 1 px of overlap in a union of 2 px.
        let half = image(
            &[truth(0.0, 0.0, 2.0, 1.0, 0)],
            &[detection(0.0, 0.0, 1.0, 1.0, 0, 0.9)],
        );
        assert_eq!(iou50(&[half]), Some(0.0));
    }

    #[test]
    fn empty_lists_are_defined() {
        assert_eq!(iou50::<ImageResult>(&[]), None);
        assert_eq!(iou50(&[ImageResult::default()]), None);
        assert_eq!(
            iou50(&[image(&[truth(0.0, 0.0, 1.0, 1.0, 0)], &[])]),
            Some(0.0)
        );
    }

    proptest! {
        #[test]
        fn a_fraction_whatever_the_order(mut images in random_images()) {
            let value = iou50(&images);
            prop_assert!(is_fraction(value));
            for image in &mut images {
                image.truths.reverse();
                image.detections.reverse();
            }
            images.reverse();
            prop_assert_eq!(iou50(&images), value);
        }
    }
}
