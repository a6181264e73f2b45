//! What the metrics compare: per image, the true boxes and the detected ones.

use serde::{Deserialize, Serialize};

use crate::geometry::{Detection, Truth};

/// The true and the detected instances of one image, each in the order in which they came.
///
/// Either list may be empty. A box with a coordinate that is not finite overlaps nothing: it stays
/// in the counts as an instance that was missed or wrongly found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImageResult {
    /// What is in the image.
    pub truths: Vec<Truth>,
    /// What was found.
    pub detections: Vec<Detection>,
}

impl ImageResult {
    /// The same image with only its first `k` truths: the released code holds ground truth in a
    /// tensor of K rows, so that the rest is lost. `None` keeps them all.
    pub fn with_first_truths(&self, k: Option<usize>) -> Self {
        let kept = k.unwrap_or(usize::MAX);
        Self {
            truths: self.truths.iter().take(kept).copied().collect(),
            detections: self.detections.clone(),
        }
    }

    /// The same image without the truths and the detections of one class, such as the background.
    pub fn without_label(&self, label: usize) -> Self {
        Self {
            truths: self
                .truths
                .iter()
                .filter(|truth| truth.label != label)
                .copied()
                .collect(),
            detections: self
                .detections
                .iter()
                .filter(|detection| detection.label != label)
                .copied()
                .collect(),
        }
    }
}

/// Intersection over union, 0 as soon as a coordinate is not finite.
pub(super) fn overlap(truth: &Truth, detection: &Detection) -> f64 {
    f64::from(truth.bounds.iou(detection.bounds))
}

#[cfg(test)]
mod tests {
    use super::super::samples::{detection, truth};
    use super::*;

    #[test]
    fn a_nan_edge_is_not_borrowed_from_the_other_box() {
        let whole = truth(0.0, 0.0, 12.0, 1.0, 0);
        let broken = detection(f32::NAN, 0.0, 10.0, 1.0, 0, 1.0);
        // Without the check: overlap 10, areas 12 and 0, so 10 / 2 = 5.
        assert_eq!(overlap(&whole, &broken), 0.0);
        let endless = detection(0.0, 0.0, f32::INFINITY, 1.0, 0, 1.0);
        assert_eq!(overlap(&whole, &endless), 0.0);
    }

    #[test]
    fn views_keep_the_order_of_what_remains() {
        let image = ImageResult {
            truths: vec![
                truth(0.0, 0.0, 1.0, 1.0, 2),
                truth(1.0, 0.0, 2.0, 1.0, 0),
                truth(2.0, 0.0, 3.0, 1.0, 1),
            ],
            detections: vec![
                detection(0.0, 0.0, 1.0, 1.0, 0, 1.0),
                detection(5.0, 0.0, 6.0, 1.0, 1, 1.0),
            ],
        };
        let labels = |image: &ImageResult| image.truths.iter().map(|t| t.label).collect::<Vec<_>>();
        assert_eq!(labels(&image.with_first_truths(Some(2))), [2, 0]);
        assert_eq!(image.with_first_truths(None), image);
        let filtered = image.without_label(0);
        assert_eq!(labels(&filtered), [2, 1]);
        assert_eq!(filtered.detections, image.detections[1..]);
    }
}
