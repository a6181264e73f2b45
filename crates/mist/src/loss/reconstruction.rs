//! The auto-encoding task's loss.

use burn::tensor::Tensor;

use super::squared_distance;
use crate::Error;

/// `|| I - sum_k S^-1(P_k, x_k) ||^2` per image (paper, section 4.2).
///
/// # Shapes
/// - `images`, `reconstructions`: `[batch, channels, height, width]`
/// - output: `[batch]`
///
/// # Errors
/// When the shapes differ.
pub fn reconstruction_loss(
    images: Tensor<4>,
    reconstructions: Tensor<4>,
) -> Result<Tensor<1>, Error> {
    squared_distance("reconstructions", images, reconstructions)
}
