//! Optimal transport to two anchors, solved exactly.
//!
//! Scores `x_i` are moved to the anchors 0 and 1 at the cost `(x_i - y_j)^2`, divided by the largest cost, with an entropy term
//! of weight epsilon; k of them must arrive at 1. With two anchors the plan is a sigmoid:
//! `m_i = sigmoid((2 x_i - 1) / (epsilon C_max) + b)`, where b makes the masks sum to k.

use super::{SoftMasks, largest_cost, transported};

/// Most steps in search of b; Newton's take about ten.
const MOST_STEPS: usize = 200;
/// Logits beyond which a sigmoid is 0 or 1 in f64.
const SATURATED: f64 = 50.0;

pub fn masks(scores: &[f32], k: usize, epsilon: f64) -> SoftMasks {
    let largest = largest_cost(scores);
    let scale = 1.0 / (epsilon * largest);
    let logits: Vec<f64> = scores
        .iter()
        .map(|&score| (2.0 * f64::from(score) - 1.0) * scale)
        .collect();
    let shift = shift(&logits, k as f64);
    let masks = logits.iter().map(|logit| sigmoid(logit + shift)).collect();
    transported(masks, epsilon, largest)
}

fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

/// The b with which the sigmoids sum to k: Newton's steps, halvings where these leave the interval that holds it.
fn shift(logits: &[f64], k: f64) -> f64 {
    let reach = logits
        .iter()
        .fold(0.0f64, |most, logit| most.max(logit.abs()))
        + SATURATED;
    let (mut low, mut high) = (-reach, reach);
    let mut shift = 0.0;
    for _ in 0..MOST_STEPS {
        let (mut total, mut slope) = (0.0, 0.0);
        for logit in logits {
            let mask = sigmoid(logit + shift);
            total += mask;
            slope += mask * (1.0 - mask);
        }
        if total < k {
            low = shift;
        } else {
            high = shift;
        }
        let newton = shift - (total - k) / slope;
        let next = match low < newton && newton < high {
            true => newton,
            false => 0.5 * (low + high),
        };
        if next == shift {
            break;
        }
        shift = next;
    }
    shift
}
