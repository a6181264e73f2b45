//! Divergences of the lower bound.

use burn::tensor::Tensor;
use burn::tensor::activation::softplus;

/// `KL(N(mean, exp(log_variance)) || N(prior_mean, prior_variance))`, summed over features.
///
/// # Shapes
/// - `mean` and `log_variance`: `[batch, features]`
/// - output: `[batch, 1]`
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// use mist::baselines::gaussian_kl;
///
/// let zeros = Tensor::<2>::zeros([1, 3], &Device::flex());
/// let kl: f32 = gaussian_kl(zeros.clone(), zeros, 1.0, 1.0).into_scalar();
/// assert_eq!(kl, 1.5);
/// ```
pub fn gaussian_kl(
    mean: Tensor<2>,
    log_variance: Tensor<2>,
    prior_mean: f32,
    prior_variance: f32,
) -> Tensor<2> {
    let variance = f64::from(prior_variance);
    let spread = (log_variance.clone().exp() + (mean - prior_mean).square()) / variance;
    ((spread - log_variance + variance.ln() - 1.0) * 0.5).sum_dim(1)
}

/// One-sample estimate of the divergence between two relaxed Bernoulli distributions (binary Concrete, Maddison et al., 2017), at
/// a sample before its sigmoid: `log q(y) - log p(y)`.
///
/// # Shapes
/// - `logits`: `[batch, 1]`, the samples `y`
/// - `log_odds`: `[batch, 1]`, of the posterior
/// - output: `[batch, 1]`
pub fn binary_concrete_kl(
    logits: Tensor<2>,
    log_odds: Tensor<2>,
    prior_log_odds: f32,
    temperature: f32,
) -> Tensor<2> {
    let scaled = logits * temperature;
    // Both densities share their other terms.
    let density = |difference: Tensor<2>| difference.clone() - softplus(difference, 1.0) * 2.0;
    let prior = density(scaled.clone().neg() + prior_log_odds);
    density(log_odds - scaled) - prior
}
