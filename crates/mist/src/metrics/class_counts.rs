//! How many instances of each class an image holds, and how many were found.

use std::collections::BTreeMap;

use super::image_result::ImageResult;

/// True and detected instances of one class in one image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClassCount {
    pub(super) truths: usize,
    pub(super) detections: usize,
}

impl ClassCount {
    pub(super) fn missed(self) -> usize {
        self.truths.saturating_sub(self.detections)
    }

    pub(super) fn difference(self) -> usize {
        self.truths.abs_diff(self.detections)
    }
}

/// The counts by class; a map, since labels come from files and may be any number.
pub(super) fn class_counts(image: &ImageResult) -> BTreeMap<usize, ClassCount> {
    let mut counts = BTreeMap::<usize, ClassCount>::new();
    for truth in &image.truths {
        counts.entry(truth.label).or_default().truths += 1;
    }
    for detection in &image.detections {
        counts.entry(detection.label).or_default().detections += 1;
    }
    counts
}
