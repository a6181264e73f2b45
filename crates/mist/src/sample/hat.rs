//! Weights of linear interpolation along one axis.

use burn::tensor::{Int, Tensor};

/// For each position, its weight on each of `size` pixels; positions are in pixels with the first pixel's centre
/// at 0.5, and what lies outside is black.
///
/// Differentiable in the positions. On a pixel's centre, where the hat has a kink, the slope to the right is taken,
/// so that no position is without a gradient.
///
/// # Shapes
/// - `positions`: `[batch, K, samples]`
/// - output: `[batch, K, samples, size]`
pub(super) fn hat_weights(positions: Tensor<3>, size: usize) -> Tensor<4> {
    let (device, dtype) = (positions.device(), positions.dtype());
    let index = (positions - 0.5).unsqueeze_dim::<4>(3);
    let lower = index.clone().detach().floor();
    let fraction = index - lower.clone();
    let pixels = Tensor::<1, Int>::arange(0..size as i64, &device)
        .float()
        .cast(dtype)
        .reshape([1, 1, 1, size]);
    let on_lower = pixels.clone().equal(lower.clone()).float().cast(dtype);
    let on_upper = pixels.equal(lower + 1.0).float().cast(dtype);
    on_lower * (fraction.clone().neg() + 1.0) + on_upper * fraction
}
