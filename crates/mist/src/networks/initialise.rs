//! Initial weights: a pure function of the network and a seed.

use mist_kernels::network::{Layer, Network, ParameterRole};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Draws the flat parameter vector: weights and biases uniform in `±1/sqrt(fan_in)` (PyTorch's default for
/// convolutions), norms as the identity. Where nothing normalises, weights are `sqrt(6)` times as large and biases 0, so
/// that maps keep their variance from layer to layer (He et al., 2015).
pub(super) fn initial_parameters(network: &Network, seed: u64) -> Vec<f32> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut parameters = Vec::with_capacity(network.parameter_count());
    let normalises = |layer: &Layer| matches!(layer, Layer::Norm | Layer::Residual(_));
    let joins = network.layers().contains(&Layer::Join);
    let plain = joins && !network.layers().iter().any(normalises);
    for spec in network.parameters() {
        parameters.extend((0..spec.len()).map(|_| match spec.role {
            ParameterRole::Bias { .. } if plain => 0.0,
            ParameterRole::Weight { fan_in } if plain => {
                let bound = (6.0 / fan_in as f32).sqrt();
                random.random_range(-bound..bound)
            }
            ParameterRole::Weight { fan_in } | ParameterRole::Bias { fan_in } => {
                let bound = 1.0 / (fan_in as f32).sqrt();
                random.random_range(-bound..bound)
            }
            ParameterRole::NormScale => 1.0,
            ParameterRole::NormShift => 0.0,
        }));
    }
    parameters
}
