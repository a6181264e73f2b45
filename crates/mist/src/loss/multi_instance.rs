//! The multiple-instance classification loss.

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use super::squared_distance;
use crate::Error;

/// `|| mean_l y_l - mean_k softmax(y_k) ||^2` per image (paper, section 4.2); the released code takes half of it.
///
/// # Shapes
/// - `mean_labels`: `[batch, classes]`, the mean of the true instances' one-hot labels
/// - `logits`: `[batch, K, classes]`
/// - output: `[batch]`
///
/// # Errors
/// When the shapes do not belong together.
pub fn multi_instance_loss(mean_labels: Tensor<2>, logits: Tensor<3>) -> Result<Tensor<1>, Error> {
    let mean_probabilities = softmax(logits, 2).mean_dim(1).squeeze_dim::<2>(1);
    squared_distance("class probabilities", mean_labels, mean_probabilities)
}
