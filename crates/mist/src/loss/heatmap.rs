//! The detector's loss.

use burn::tensor::Tensor;

use super::squared_distance;
use crate::Error;

/// `|| G({x_k}) - H(I) ||^2` per image (paper, equation of the detector stage).
///
/// # Shapes
/// - `heatmaps`, `targets`: `[batch, scales, height, width]`
/// - output: `[batch]`
///
/// # Errors
/// When the shapes differ.
pub fn heatmap_loss(heatmaps: Tensor<4>, targets: Tensor<4>) -> Result<Tensor<1>, Error> {
    squared_distance("heatmap targets", heatmaps, targets)
}
