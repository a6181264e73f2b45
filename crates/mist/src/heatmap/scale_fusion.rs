//! Softmax pooling over scale (paper, appendix A).

use burn::tensor::Tensor;

/// Keeps the quotient finite where no scale responds.
const EPSILON: f64 = 1e-6;

/// `h'_s = h_s * h_s / sum_s' (h_s' + epsilon)`; the fused map of the paper is the sum of these over s.
///
/// The terms are kept apart because E_K reads the scale from them.
///
/// # Shapes
/// - input and output: `[batch, scales, height, width]`, not negative
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// use mist::heatmap::scale_fusion;
///
/// // One pixel that responds at two scales, three times as much at the second.
/// let heatmap = Tensor::<4>::from_data([[[[0.25]], [[0.75]]]], &Device::flex());
/// let fused = scale_fusion(heatmap).try_into_vec_as::<f32>().unwrap();
/// assert!((fused[1] / fused[0] - 9.0).abs() < 1e-4);
/// ```
pub fn scale_fusion(heatmaps: Tensor<4>) -> Tensor<4> {
    let total = (heatmaps.clone() + EPSILON).sum_dim(1);
    heatmaps.square() / total
}
