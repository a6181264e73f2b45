//! Errors of the counts, for data whose only labels are counts.

use std::borrow::Borrow;

use super::class_counts::{ClassCount, class_counts};
use super::image_result::ImageResult;
use super::ratio::Ratio;

/// One image's share of [`count_mae`]: the summed errors, out of `class_count`.
pub fn count_error_of(image: &ImageResult, class_count: usize) -> Ratio {
    let error = class_counts(image)
        .into_values()
        .map(ClassCount::difference)
        .sum();
    Ratio::of_counts(error, class_count)
}

/// Mean over images and classes of |true count - detected count|, in instances.
///
/// Errors in labels at or above `class_count` add to the sum, so that none is hidden. `None`
/// without images or classes.
pub fn count_mae<R: Borrow<ImageResult>>(images: &[R], class_count: usize) -> Option<f64> {
    images
        .iter()
        .map(|image| count_error_of(image.borrow(), class_count))
        .sum::<Ratio>()
        .value()
}

/// One image's share of [`total_count_mae`].
pub fn total_count_error_of(image: &ImageResult) -> Ratio {
    Ratio::of_counts(image.truths.len().abs_diff(image.detections.len()), 1)
}

/// Mean over images of |number of truths - number of detections|, in instances. `None` without
/// images.
pub fn total_count_mae<R: Borrow<ImageResult>>(images: &[R]) -> Option<f64> {
    images
        .iter()
        .map(|image| total_count_error_of(image.borrow()))
        .sum::<Ratio>()
        .value()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::samples::{CLASS_COUNT, detection, image, random_images, truth};
    use super::*;

    fn labelled(true_labels: &[usize], found_labels: &[usize]) -> ImageResult {
        let truths: Vec<_> = true_labels
            .iter()
            .map(|&label| truth(0.0, 0.0, 1.0, 1.0, label))
            .collect();
        let found: Vec<_> = found_labels
            .iter()
            .map(|&label| detection(0.0, 0.0, 1.0, 1.0, label, 1.0))
            .collect();
        image(&truths, &found)
    }

    #[test]
    fn errors_by_class_and_of_the_total() {
        // By class: image 1 errs by 1 (class 0), 2 (class 1), 1 (class 2); image 2 by 1 (class 2).
        // 5 errors over 2 images * 3 classes. Totals: |3 - 3| and |1 - 2|, mean 1/2.
        let images = [labelled(&[0, 1, 1], &[0, 0, 2]), labelled(&[0], &[0, 2])];
        assert_eq!(count_mae(&images, 3), Some(5.0 / 6.0));
        assert_eq!(total_count_mae(&images), Some(0.5));
    }

    #[test]
    fn empty_lists_and_labels_out_of_range_are_defined() {
        assert_eq!(count_mae::<ImageResult>(&[], 3), None);
        assert_eq!(count_mae(&[ImageResult::default()], 0), None);
        assert_eq!(count_mae(&[ImageResult::default()], 3), Some(0.0));
        assert_eq!(count_mae(&[labelled(&[7], &[])], 2), Some(0.5));
        assert_eq!(total_count_mae::<ImageResult>(&[]), None);
    }

    proptest! {
        #[test]
        fn surplus_and_shortage_cancel_only_in_the_total(images in random_images()) {
            let summed_by_class =
                count_mae(&images, CLASS_COUNT).map(|mae| mae * CLASS_COUNT as f64);
            prop_assert!(summed_by_class.zip(total_count_mae(&images)).is_none_or(
                |(by_class, total)| total >= 0.0 && by_class >= total - 1e-12
            ));
        }
    }
}
