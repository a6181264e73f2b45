//! LapSum (2025): a threshold for which the distribution functions of Laplace sum to k, in closed form.
//!
//! `m_i = F((x_i - b) / alpha)` with `F(z) = e^z / 2` below 0 and `1 - e^-z / 2` above. Between two neighbouring scores the sum is
//! `A e^(-t) - B e^t + C` of the distance t of b from the lower one, so that b is the root of a quadratic equation.

use super::SoftMasks;

pub fn masks(scores: &[f32], k: usize, alpha: f64) -> SoftMasks {
    let mut sorted: Vec<f64> = scores
        .iter()
        .map(|&score| f64::from(score) / alpha)
        .collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let threshold = threshold(&sorted, k as f64);
    let (masks, densities): (Vec<f64>, Vec<f64>) = scores
        .iter()
        .map(|&score| {
            let above = f64::from(score) / alpha - threshold;
            let tail = 0.5 * (-above.abs()).exp();
            (if above < 0.0 { tail } else { 1.0 - tail }, tail / alpha)
        })
        .unzip();
    SoftMasks::new(masks, &densities, 1.0)
}

/// The threshold for scores in ascending order, in units of alpha.
fn threshold(sorted: &[f64], k: f64) -> f64 {
    let count = sorted.len();
    let (Some(&lowest), Some(&highest)) = (sorted.first(), sorted.last()) else {
        return 0.0;
    };
    // `sum_{j <= i} e^(x_j - x_i)` and `sum_{j >= i} e^(x_i - x_j)`: never below 1, never above n.
    let mut below = vec![1.0; count];
    let mut above = vec![1.0; count];
    for i in 1..count {
        below[i] += below[i - 1] * (sorted[i - 1] - sorted[i]).exp();
    }
    for i in (1..count).rev() {
        above[i - 1] += above[i] * (sorted[i - 1] - sorted[i]).exp();
    }
    // The sum of masks when the threshold is at score i; it falls with i.
    let total = |i: usize| 0.5 * below[i] + (count - 1 - i) as f64 - 0.5 * (above[i] - 1.0);
    if k >= total(0) {
        return lowest + (2.0 * (count as f64 - k) / above[0]).ln();
    }
    if k <= total(count - 1) {
        return highest - (2.0 * k / below[count - 1]).ln();
    }
    let (mut low, mut high) = (0, count - 1);
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if total(middle) >= k {
            low = middle;
        } else {
            high = middle;
        }
    }
    let gap = sorted[high] - sorted[low];
    let more = (count - 1 - low) as f64 - k;
    sorted[low] + root(below[low], above[high], more, gap).clamp(0.0, gap)
}

/// The t with `below e^-t / 2 + more - above e^(t - gap) / 2 = 0`.
fn root(below: f64, above: f64, more: f64, gap: f64) -> f64 {
    if more == 0.0 {
        return 0.5 * (gap + (below / above).ln());
    }
    let length = (more * more + below * above * (-gap).exp()).sqrt();
    // Of the two forms, the one that does not cancel.
    match more > 0.0 {
        true => gap + ((more + length) / above).ln(),
        false => -((length - more) / below).ln(),
    }
}
