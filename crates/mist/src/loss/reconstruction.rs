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
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// use mist::loss::reconstruction_loss;
///
/// let image = Tensor::<4>::ones([1, 1, 2, 2], &Device::flex());
/// let loss = reconstruction_loss(image.clone(), image * 0.5)?;
/// assert_eq!(loss.into_scalar::<f32>(), 1.0);
/// # Ok::<(), mist::Error>(())
/// ```
pub fn reconstruction_loss(
    images: Tensor<4>,
    reconstructions: Tensor<4>,
) -> Result<Tensor<1>, Error> {
    squared_distance("reconstructions", images, reconstructions)
}
