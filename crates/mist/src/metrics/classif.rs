//! *Classif.* of the paper's Tables 2 and 3.

use std::borrow::Borrow;

use super::class_counts::class_counts;
use super::image_result::ImageResult;
use super::ratio::Ratio;

/// One image's share: truths that a detection of their class accounts for, wherever it is.
pub fn classif_of(image: &ImageResult) -> Ratio {
    accounted(image, |_| true)
}

/// 1 - (sum over images and classes of max(0, true count - detected count)) / (true count).
///
/// Every class counts, 0 included. `None` without truths.
pub fn classif<R: Borrow<ImageResult>>(images: &[R]) -> Option<f64> {
    images
        .iter()
        .map(|image| classif_of(image.borrow()))
        .sum::<Ratio>()
        .value()
}

/// One image's share of [`classif_official`].
pub fn classif_official_of(image: &ImageResult, k: Option<usize>) -> Ratio {
    accounted(&image.with_first_truths(k), |label| label != 0)
}

/// As the released evaluator computes it: misses of class 0 are not counted although its truths
/// stay in the total (it takes class 0 for the background, even for digits), and truths beyond the
/// first `k` of an image are not seen.
///
/// It also divides by the number of predicted boxes, which is the number of truths wherever every
/// image holds exactly K; this divides by the truths kept.
pub fn classif_official<R: Borrow<ImageResult>>(images: &[R], k: Option<usize>) -> Option<f64> {
    images
        .iter()
        .map(|image| classif_official_of(image.borrow(), k))
        .sum::<Ratio>()
        .value()
}

fn accounted(image: &ImageResult, is_counted: impl Fn(usize) -> bool) -> Ratio {
    let missed: usize = class_counts(image)
        .iter()
        .filter(|&(&label, _)| is_counted(label))
        .map(|(_, count)| count.missed())
        .sum();
    Ratio::of_counts(image.truths.len() - missed, image.truths.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::samples::{detection, image, is_fraction, random_images, truth};
    use super::*;

    fn labelled(true_labels: &[usize], found_labels: &[usize]) -> ImageResult {
        let truths: Vec<_> = true_labels
            .iter()
            .map(|&label| truth(0.0, 0.0, 1.0, 1.0, label))
            .collect();
        let found: Vec<_> = found_labels
            .iter()
            .map(|&label| detection(9.0, 9.0, 9.5, 9.5, label, 1.0))
            .collect();
        image(&truths, &found)
    }

    #[test]
    fn misses_are_counted_by_class_and_surplus_is_free() {
        // Missed: one 0 (2 - 1), two 3s (2 - 0), no 5 (1 - 3): 3 of 5.
        let seen = labelled(&[0, 0, 3, 3, 5], &[0, 5, 5, 5, 7]);
        assert_eq!(classif(&[&seen]), Some(2.0 / 5.0));
        // The missed 0 is free, the total stays: 1 - 2/5.
        assert_eq!(classif_official(&[&seen], None), Some(3.0 / 5.0));
        // Of the first three truths, the 3 is missed: 1 - 1/3.
        assert_eq!(classif_official(&[&seen], Some(3)), Some(2.0 / 3.0));
    }

    #[test]
    fn a_surplus_in_one_image_does_not_pay_for_a_miss_in_another() {
        let images = [labelled(&[4], &[]), labelled(&[4], &[4, 4])];
        assert_eq!(classif(&images), Some(0.5));
    }

    #[test]
    fn empty_lists_and_huge_labels_are_defined() {
        assert_eq!(classif::<ImageResult>(&[]), None);
        assert_eq!(classif(&[labelled(&[], &[1])]), None);
        assert_eq!(
            classif(&[labelled(&[usize::MAX], &[usize::MAX])]),
            Some(1.0)
        );
    }

    proptest! {
        #[test]
        fn a_fraction_and_never_above_the_official_one(mut images in random_images()) {
            let value = classif(&images);
            let official = classif_official(&images, None);
            prop_assert!(is_fraction(value) && is_fraction(official) && value <= official);
            for image in &mut images {
                image.truths.reverse();
                image.detections.reverse();
            }
            prop_assert_eq!(classif(&images), value);
        }
    }
}
