//! Optimal transport to two anchors by Sinkhorn's iterations (Xie et al., 2020, algorithm 1).

use super::{SoftMasks, largest_cost, transported};

/// Below it, exponentials of costs leave the range of numbers.
const LEAST_PLAIN_EPSILON: f64 = 1e-2;

/// The masks `n Gamma_i1` after so many iterations. Their gradient is that of the fixed point, from the plan alone (the
/// paper's algorithm 2), so that no iteration is kept.
pub fn masks(scores: &[f32], k: usize, epsilon: f64, iterations: usize) -> SoftMasks {
    let largest = largest_cost(scores);
    let count = scores.len() as f64;
    let arriving = [(count - k as f64) / count, k as f64 / count];
    // `-C_ij / epsilon`
    let costs: Vec<[f64; 2]> = scores
        .iter()
        .map(|&score| {
            let cost = |anchor: f64| -(f64::from(score) - anchor).powi(2) / largest / epsilon;
            [cost(0.0), cost(1.0)]
        })
        .collect();
    let masks = match epsilon < LEAST_PLAIN_EPSILON {
        true => by_logarithms(&costs, arriving, iterations),
        false => by_products(&costs, arriving, iterations),
    };
    transported(masks, epsilon, largest)
}

fn by_products(costs: &[[f64; 2]], arriving: [f64; 2], iterations: usize) -> Vec<f64> {
    let count = costs.len() as f64;
    let kernel: Vec<[f64; 2]> = costs.iter().map(|pair| pair.map(f64::exp)).collect();
    // Divisions are clipped (appendix C.2).
    let of_score = |pair: &[f64; 2], anchors: [f64; 2]| {
        1.0 / count / (pair[0] * anchors[0] + pair[1] * anchors[1]).max(f64::MIN_POSITIVE)
    };
    let mut anchors = [1.0; 2];
    let mut before = anchors;
    for _ in 0..iterations {
        before = anchors;
        let mut totals = [0.0; 2];
        for pair in &kernel {
            let factor = of_score(pair, anchors);
            totals[0] += factor * pair[0];
            totals[1] += factor * pair[1];
        }
        anchors =
            [0, 1].map(|anchor: usize| arriving[anchor] / totals[anchor].max(f64::MIN_POSITIVE));
    }
    let mask = |pair: &[f64; 2]| count * of_score(pair, before) * pair[1] * anchors[1];
    kernel.iter().map(mask).collect()
}

fn by_logarithms(costs: &[[f64; 2]], arriving: [f64; 2], iterations: usize) -> Vec<f64> {
    let count = costs.len() as f64;
    let arriving = arriving.map(f64::ln);
    let of_score = |pair: &[f64; 2], anchors: [f64; 2]| {
        -count.ln() - log_sum(pair[0] + anchors[0], pair[1] + anchors[1])
    };
    let mut anchors = [0.0; 2];
    let mut before = anchors;
    for _ in 0..iterations {
        before = anchors;
        let mut totals = [f64::NEG_INFINITY; 2];
        for pair in costs {
            let potential = of_score(pair, anchors);
            totals[0] = log_sum(totals[0], potential + pair[0]);
            totals[1] = log_sum(totals[1], potential + pair[1]);
        }
        anchors = [0, 1].map(|anchor: usize| arriving[anchor] - totals[anchor]);
    }
    let mask = |pair: &[f64; 2]| count * (of_score(pair, before) + pair[1] + anchors[1]).exp();
    costs.iter().map(mask).collect()
}

/// `ln(e^a + e^b)`
fn log_sum(a: f64, b: f64) -> f64 {
    let most = a.max(b);
    most + ((a - most).exp() + (b - most).exp()).ln()
}
