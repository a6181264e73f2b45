//! The multiple-instance classification loss.

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;
use serde::{Deserialize, Serialize};

use super::{same_shape, squared_distance};
use crate::Error;

/// How far the mean prediction is from the mean label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeanDistance {
    /// Squared (section 4.2); the released code takes half of it.
    Squared,
    /// Relative entropy: a class that is there and not predicted costs without bound, so that learning from counts
    /// begins sooner.
    RelativeEntropy,
}

impl MeanDistance {
    /// The distance of each image, `[batch]`.
    ///
    /// # Shapes
    /// - `mean_labels` and `predicted`: `[batch, classes]`
    ///
    /// # Errors
    /// When the shapes differ.
    pub fn losses(self, mean_labels: Tensor<2>, predicted: Tensor<2>) -> Result<Tensor<1>, Error> {
        let what = "class probabilities";
        match self {
            Self::Squared => squared_distance(what, mean_labels, predicted),
            Self::RelativeEntropy => {
                same_shape(what, &mean_labels, &predicted)?;
                let classes = predicted.dims()[1] as f64;
                let predicted = predicted * (1.0 - SMOOTHING) + SMOOTHING / classes;
                let ratio = mean_labels.clone().clamp_min(f32::MIN_POSITIVE) / predicted;
                Ok((mean_labels * ratio.log()).sum_dim(1).squeeze_dim::<1>(1))
            }
        }
    }

    /// The distance of one image as plain numbers: what [`multi_instance_loss`] computes of the same means.
    ///
    /// # Shapes
    /// - `mean_labels` and `predicted`: `[classes]`
    pub(crate) fn of_means(self, mean_labels: &[f32], predicted: impl Iterator<Item = f32>) -> f32 {
        let pairs = mean_labels.iter().zip(predicted);
        match self {
            Self::Squared => pairs
                .map(|(label, predicted)| (label - predicted).powi(2))
                .sum(),
            Self::RelativeEntropy => {
                let uniform = SMOOTHING as f32 / mean_labels.len() as f32;
                let there = pairs.filter(|(label, _)| **label > 0.0);
                let terms = there.map(|(&label, predicted)| {
                    label * (label / (predicted * (1.0 - SMOOTHING as f32) + uniform)).ln()
                });
                terms.sum()
            }
        }
    }
}

/// Mixed into the predictions, so that their logarithm stays finite.
const SMOOTHING: f64 = 1e-3;

/// The distance between `mean_l y_l` and `mean_k softmax(y_k)` per image (paper, section 4.2).
///
/// # Shapes
/// - `mean_labels`: `[batch, classes]`, the mean of the true instances' one-hot labels
/// - `logits`: `[batch, K, classes]`
/// - output: `[batch]`
///
/// # Errors
/// When the shapes do not belong together.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// use mist::loss::{MeanDistance, multi_instance_loss};
///
/// let device = Device::flex();
/// // Two patches, sure of class 0 and of class 1; the image holds one of each.
/// let logits = Tensor::<3>::from_data([[[50.0, 0.0], [0.0, 50.0]]], &device);
/// let mean_labels = Tensor::<2>::from_data([[0.5, 0.5]], &device);
/// let loss = multi_instance_loss(MeanDistance::Squared, mean_labels, logits)?;
/// assert!(loss.into_scalar::<f32>() < 1e-6);
/// # Ok::<(), mist::Error>(())
/// ```
pub fn multi_instance_loss(
    distance: MeanDistance,
    mean_labels: Tensor<2>,
    logits: Tensor<3>,
) -> Result<Tensor<1>, Error> {
    let predicted = softmax(logits, 2).mean_dim(1).squeeze_dim::<2>(1);
    distance.losses(mean_labels, predicted)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn plain_numbers_and_tensors_agree() {
        let device = Device::flex();
        let logits = [[[0.3, -1.0, 0.2], [2.0, 0.1, -0.4]]];
        let labels = [0.5, 0.0, 0.5];
        for distance in [MeanDistance::Squared, MeanDistance::RelativeEntropy] {
            let logits = Tensor::<3>::from_data(logits, &device);
            let means = softmax(logits.clone(), 2).mean_dim(1);
            let means = means.try_into_vec_as::<f32>().unwrap();
            let loss = multi_instance_loss(distance, Tensor::from_data([labels], &device), logits);
            let loss = loss.unwrap().into_scalar::<f32>();
            let plain = distance.of_means(&labels, means.into_iter());
            assert!((loss - plain).abs() < 1e-6, "{distance:?}: {loss} {plain}");
        }
    }

    /// Two patches, sure of class 0 and of class 1; the labels say the same, or twice class 1.
    #[test]
    fn relative_entropy_is_zero_for_the_right_counts_and_finite_for_the_wrong() {
        let device = Device::flex();
        let logits = Tensor::<3>::from_data([[[50.0, 0.0], [0.0, 50.0]]], &device);
        let loss = |labels: [[f32; 2]; 1]| {
            let labels = Tensor::<2>::from_data(labels, &device);
            let loss = multi_instance_loss(MeanDistance::RelativeEntropy, labels, logits.clone());
            loss.unwrap().into_scalar::<f32>()
        };
        assert!(loss([[0.5, 0.5]]).abs() < 1e-5);
        assert!((loss([[0.0, 1.0]]) - 2f32.ln()).abs() < 1e-3);
        let none = Tensor::<3>::from_data([[[50.0, 0.0], [50.0, 0.0]]], &device);
        let labels = Tensor::<2>::from_data([[0.0, 1.0]], &device);
        let loss = multi_instance_loss(MeanDistance::RelativeEntropy, labels, none).unwrap();
        let loss = loss.into_scalar::<f32>();
        assert!((6.0..9.0).contains(&loss), "{loss}");
    }
}
