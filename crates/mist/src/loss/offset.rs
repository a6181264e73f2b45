//! The offsets' loss of the backbone-based heatmap.

use burn::tensor::Tensor;

use super::same_shape;
use crate::Error;

/// Huber loss of the offsets at supervised cells, averaged over those cells (paper, appendix B); zero for an image
/// without any.
///
/// # Shapes
/// - `predicted`, `targets`: `[batch, 2, height, width]`
/// - `mask`: `[batch, 1, height, width]`, 1 at supervised cells
/// - output: `[batch]`
///
/// # Errors
/// When the shapes do not belong together.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// use mist::loss::offset_loss;
///
/// let device = Device::flex();
/// let predicted = Tensor::<4>::zeros([1, 2, 1, 1], &device);
/// let (targets, mask) = (predicted.clone() + 0.5, Tensor::<4>::ones([1, 1, 1, 1], &device));
/// // Half the square of each offset's error.
/// assert_eq!(offset_loss(predicted, targets, mask)?.into_scalar::<f32>(), 0.25);
/// # Ok::<(), mist::Error>(())
/// ```
pub fn offset_loss(
    predicted: Tensor<4>,
    targets: Tensor<4>,
    mask: Tensor<4>,
) -> Result<Tensor<1>, Error> {
    same_shape("offset targets", &predicted, &targets)?;
    let [batch, _, height, width] = predicted.dims();
    if mask.dims() != [batch, 1, height, width] {
        return Err(Error::Mismatch {
            what: "mask of supervised cells",
            expected: vec![batch, 1, height, width],
            actual: mask.dims().to_vec(),
        });
    }
    let per_image = |t: Tensor<4>| t.sum_dims(&[1, 2, 3]).reshape([batch]);
    let supervised = per_image(mask.clone()).clamp_min(1.0);
    Ok(per_image(huber(predicted - targets) * mask) / supervised)
}

/// `x^2 / 2` below 1, `|x| - 1/2` above.
fn huber(difference: Tensor<4>) -> Tensor<4> {
    let size = difference.abs();
    let small = size.clone().clamp_max(1.0);
    small.clone().square() * 0.5 + (size - small)
}
