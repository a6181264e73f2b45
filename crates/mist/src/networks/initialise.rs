//! Initial weights: a pure function of the network and a seed.

use mist_kernels::network::{Network, ParameterRole};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Draws the flat parameter vector: weights and biases uniform in `±1/sqrt(fan_in)` (PyTorch's default for
/// convolutions), norms as the identity.
pub(super) fn initial_parameters(network: &Network, seed: u64) -> Vec<f32> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut parameters = Vec::with_capacity(network.parameter_count());
    for spec in network.parameters() {
        parameters.extend((0..spec.len()).map(|_| match spec.role {
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
