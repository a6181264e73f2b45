//! The differentiable top-k operator by optimal transport (Xie et al., 2020), in closed form and by Sinkhorn's iterations.
//!
//! Scores `x_i` are moved to two anchors, 0 and 1, at the cost `(x_i - y_j)^2`, divided by the largest cost, with an entropy
//! term of weight epsilon; `k` of them must arrive at 1. With two anchors the plan is a sigmoid:
//! `m_i = sigmoid((2 x_i - 1) / (epsilon C_max) + b)`, where b makes the masks sum to k.

use burn::tensor::activation::sigmoid;
use burn::tensor::{Tensor, TensorData};

use crate::Error;

/// Halvings of the interval that holds b.
const HALVINGS: usize = 100;

/// Largest cost of moving a score to an anchor.
fn largest_cost(scores: &[f32]) -> f64 {
    let costs = scores.iter().map(|&score| {
        let score = f64::from(score);
        score.powi(2).max((score - 1.0).powi(2))
    });
    costs.fold(f64::MIN_POSITIVE, f64::max)
}

/// `(2 x - 1) / (epsilon C_max)` of each score, and b.
fn logits_and_shift(scores: &[f32], k: usize, epsilon: f64) -> (Vec<f64>, f64) {
    let scale = 1.0 / (epsilon * largest_cost(scores));
    let logits: Vec<f64> = scores
        .iter()
        .map(|&score| (2.0 * f64::from(score) - 1.0) * scale)
        .collect();
    let total = |shift: f64| -> f64 {
        let masks = logits
            .iter()
            .map(|logit| 1.0 / (1.0 + (-logit - shift).exp()));
        masks.sum()
    };
    let reach = logits
        .iter()
        .fold(0.0, |most: f64, logit| most.max(logit.abs()))
        + 50.0;
    let (mut low, mut high) = (-reach, reach);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if total(middle) < k as f64 {
            low = middle;
        } else {
            high = middle;
        }
    }
    (logits, 0.5 * (low + high))
}

/// How much each score is among the k largest: masks in `0..1` that sum to k.
///
/// # Example
/// ```
/// use mist::baselines::soft_top_k;
///
/// let masks = soft_top_k(&[0.1, 0.9, 0.2, 0.8], 2, 0.01);
/// assert!(masks[1] > 0.99 && masks[3] > 0.99 && masks[0] < 0.01);
/// ```
pub fn soft_top_k(scores: &[f32], k: usize, epsilon: f64) -> Vec<f64> {
    let (logits, shift) = logits_and_shift(scores, k, epsilon);
    let masks = logits
        .iter()
        .map(|logit| 1.0 / (1.0 + (-logit - shift).exp()));
    masks.collect()
}

/// The same by Sinkhorn's iterations in the log domain: the reference.
pub fn soft_top_k_by_sinkhorn(
    scores: &[f32],
    k: usize,
    epsilon: f64,
    iterations: usize,
) -> Vec<f64> {
    let count = scores.len() as f64;
    let largest = largest_cost(scores);
    let kernel = |score: f32, anchor: f64| -(f64::from(score) - anchor).powi(2) / largest / epsilon;
    let log_sum = |a: f64, b: f64| {
        let most = a.max(b);
        most + ((a - most).exp() + (b - most).exp()).ln()
    };
    let source = -count.ln();
    let targets = [(count - k as f64) / count, k as f64 / count].map(f64::ln);
    let mut of_scores = vec![0.0; scores.len()];
    let mut of_anchors = [0.0f64; 2];
    for _ in 0..iterations {
        for (potential, &score) in of_scores.iter_mut().zip(scores) {
            let [zero, one] = [0.0, 1.0].map(|anchor| kernel(score, anchor));
            *potential = source - log_sum(zero + of_anchors[0], one + of_anchors[1]);
        }
        for (anchor, potential) in of_anchors.iter_mut().enumerate() {
            let arriving = of_scores.iter().zip(scores);
            let arriving =
                arriving.map(|(potential, &score)| potential + kernel(score, anchor as f64));
            let total = arriving.fold(f64::NEG_INFINITY, log_sum);
            *potential = targets[anchor] - total;
        }
    }
    let masks = of_scores.iter().zip(scores);
    masks
        .map(|(potential, &score)| count * (potential + of_anchors[1] + kernel(score, 1.0)).exp())
        .collect()
}

/// Masks of each image's scores, with their gradient
/// `dm_i / dx_j = c (w_i [i = j] - w_i w_j / sum w)`, `w = m (1 - m)`, `c = 2 / (epsilon C_max)`.
///
/// # Shapes
/// - `scores` and output: `[batch, locations]`
///
/// # Errors
/// When `k` is not below the number of locations, or the device cannot be read.
pub fn soft_top_k_masks(scores: Tensor<2>, k: usize, epsilon: f32) -> Result<Tensor<2>, Error> {
    let [batch, locations] = scores.dims();
    if k >= locations || epsilon <= 0.0 {
        return Err(Error::Setting {
            name: "k and epsilon",
            requirement: "fewer than there are locations, and positive".into(),
        });
    }
    let plain = scores.clone().detach().inner().try_into_vec_as::<f32>()?;
    let mut shifts = Vec::with_capacity(batch);
    let mut slopes = Vec::with_capacity(batch);
    let mut weights = Vec::with_capacity(plain.len());
    for image in plain.chunks_exact(locations) {
        let (logits, shift) = logits_and_shift(image, k, f64::from(epsilon));
        let slope = 1.0 / (f64::from(epsilon) * largest_cost(image));
        let spread: Vec<f64> = logits
            .iter()
            .map(|logit| {
                let mask = 1.0 / (1.0 + (-logit - shift).exp());
                mask * (1.0 - mask)
            })
            .collect();
        let total = spread.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        weights.extend(spread.iter().map(|weight| (weight / total) as f32));
        shifts.push((shift - slope) as f32);
        slopes.push(2.0 * slope as f32);
    }
    let device = scores.device();
    let column =
        |values: Vec<f32>| Tensor::<2>::from_data(TensorData::new(values, [batch, 1]), &device);
    let weights = Tensor::<2>::from_data(TensorData::new(weights, [batch, locations]), &device);
    // Zero, with the gradient of b: the weighted mean of the scores, less itself.
    let moved = scores.clone() - scores.clone().detach();
    let shift_gradient = (moved * weights).sum_dim(1);
    let logits = (scores - shift_gradient) * column(slopes) + column(shifts);
    Ok(sigmoid(logits))
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    const SCORES: [f32; 6] = [0.3, -0.2, 1.4, 0.9, 0.35, 0.1];

    #[test]
    fn the_closed_form_is_what_sinkhorn_converges_to() {
        for (k, epsilon) in [(1, 0.1), (2, 0.1), (4, 0.5), (3, 0.02)] {
            let closed = soft_top_k(&SCORES, k, epsilon);
            let iterated = soft_top_k_by_sinkhorn(&SCORES, k, epsilon, 4000);
            assert!((closed.iter().sum::<f64>() - k as f64).abs() < 1e-9);
            for (a, b) in closed.iter().zip(&iterated) {
                assert!((a - b).abs() < 1e-6, "k {k}, epsilon {epsilon}: {a} {b}");
            }
        }
    }

    /// Differences of the masks themselves, at a fixed largest cost.
    #[test]
    fn gradients_are_those_of_the_masks() {
        let device = Device::flex().autodiff();
        let (k, epsilon) = (2, 0.3f32);
        let scores = Tensor::<2>::from_data([SCORES], &device).require_grad();
        let masks = soft_top_k_masks(scores.clone(), k, epsilon).unwrap();
        let plain = soft_top_k(&SCORES, k, f64::from(epsilon));
        let found = masks.clone().inner().try_into_vec_as::<f32>().unwrap();
        for (a, b) in found.iter().zip(&plain) {
            assert!((f64::from(*a) - b).abs() < 1e-5);
        }
        let gradients = masks.narrow(1, 3, 1).sum().backward();
        let gradient = scores.grad(&gradients).unwrap();
        let gradient = gradient.try_into_vec_as::<f32>().unwrap();
        // Score 2 has the largest cost, so that a change of the others leaves it.
        for place in [0, 1, 3, 4, 5] {
            let at = |change: f32| {
                let mut scores = SCORES;
                scores[place] += change;
                soft_top_k(&scores, k, f64::from(epsilon))[3]
            };
            let difference = (at(1e-3) - at(-1e-3)) / 2e-3;
            let found = f64::from(gradient[place]);
            assert!(
                (found - difference).abs() < 1e-2,
                "{place}: {found} {difference}"
            );
        }
        let total: f32 = gradient.iter().sum();
        assert!(total.abs() < 1e-4, "masks sum to k: {total}");
    }
}
