//! How far a detector's two outputs are from their targets.

use burn::tensor::Tensor;
use burn::tensor::activation::{log_sigmoid, sigmoid};

use super::targets::Targets;

/// Most pixels are no centre: an untrained detector is that sure of it.
const PRIOR: f32 = 3.0;

/// The heat of scores, in `0..1`.
pub(super) fn heat(scores: Tensor<4>) -> Tensor<4> {
    sigmoid(scores - PRIOR)
}

/// The cross-entropy of heat per object, with less weight where it is right already: `|y - p|^focus` (Lin et al., 2017; for
/// targets between 0 and 1, Li et al., 2020). And the absolute error of sizes.
///
/// # Shapes
/// - `scores` and `sizes`: `[batch, 1, height, width]`
/// - outputs: `[batch]`, sums over pixels: divided by the numbers of all images' objects and sized pixels they are the losses
pub(super) fn losses(
    scores: Tensor<4>,
    sizes: Tensor<4>,
    targets: &Targets,
    focus: f32,
) -> [Tensor<1>; 2] {
    let logits = scores - PRIOR;
    let wanted = targets.heat.clone();
    let likelihood = wanted.clone() * log_sigmoid(logits.clone())
        + (-wanted.clone() + 1.0) * log_sigmoid(-logits.clone());
    let mut heat = likelihood * targets.weights.clone();
    if focus > 0.0 {
        heat = heat * (sigmoid(logits) - wanted).abs().powf_scalar(focus);
    }
    let errors = (sizes - targets.sizes.clone()).abs() * targets.sized.clone();
    let per_image = |maps: Tensor<4>| {
        let batch = maps.dims()[0];
        maps.sum_dims(&[1, 2, 3]).reshape([batch])
    };
    [-per_image(heat), per_image(errors)]
}
