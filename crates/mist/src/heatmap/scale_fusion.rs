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
pub fn scale_fusion(heatmaps: Tensor<4>) -> Tensor<4> {
    let total = (heatmaps.clone() + EPSILON).sum_dim(1);
    heatmaps.square() / total
}
