//! Which pixels may stand beside stronger ones.

use serde::{Deserialize, Serialize};

use super::nms::local_maxima;
use super::top_k::top_k;

/// How E_K keeps its keypoints apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Suppression {
    /// A pixel must be the largest of its window, as in the released code. The slope of a strong response hides a weaker
    /// one within the window, whether or not the strong one's own place is that near.
    #[default]
    LocalMaxima,
    /// The strongest pixel is taken and its window left out, again and again: only what was taken hides others.
    Greedy,
}

impl Suppression {
    /// Indices of the `k` strongest pixels that are left, strongest first, then of the strongest that are not.
    pub(super) fn pick(
        self,
        scores: &[f32],
        width: usize,
        window_px: usize,
        k: usize,
    ) -> Vec<usize> {
        match self {
            Self::LocalMaxima => top_k(scores, &local_maxima(scores, width, window_px), k),
            Self::Greedy => top_k(scores, &taken_in_turn(scores, width, window_px, k), k),
        }
    }
}

/// Marks at most `k` pixels; ties go to the lower index.
fn taken_in_turn(scores: &[f32], width: usize, window_px: usize, k: usize) -> Vec<bool> {
    let radius = window_px / 2;
    let height = scores.len() / width;
    let mut left = scores.to_vec();
    let mut taken = vec![false; scores.len()];
    for _ in 0..k {
        let stronger = |best: (usize, f32), next: (usize, f32)| {
            if next.1 > best.1 { next } else { best }
        };
        let (index, score) = left
            .iter()
            .copied()
            .enumerate()
            .fold((0, f32::NEG_INFINITY), stronger);
        if score == f32::NEG_INFINITY {
            break;
        }
        taken[index] = true;
        let (x, y) = (index % width, index / width);
        let columns = x.saturating_sub(radius)..=(x + radius).min(width - 1);
        for row in y.saturating_sub(radius)..=(y + radius).min(height - 1) {
            left[row * width..][columns.clone()].fill(f32::NEG_INFINITY);
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    // Two hills, the tops five pixels apart: the weaker top sees the stronger one's slope two pixels away.
    const HILLS: [f32; 9] = [0.0, 0.7, 1.0, 0.8, 0.6, 0.4, 0.3, 0.5, 0.1];

    #[test]
    fn only_greedy_suppression_sees_past_a_slope() {
        let places = |suppression: Suppression| suppression.pick(&HILLS, 9, 7, 2);
        assert_eq!(places(Suppression::LocalMaxima), [2, 3]);
        assert_eq!(places(Suppression::Greedy), [2, 7]);
    }

    #[test]
    fn taken_pixels_are_apart_in_both_directions_and_suppressed_ones_follow() {
        #[rustfmt::skip]
        let scores = [
            0.9, 0.8, 0.1,
            0.7, 0.2, 0.1,
            0.1, 0.1, 0.5,
        ];
        assert_eq!(Suppression::Greedy.pick(&scores, 3, 3, 5), [0, 8, 2, 6, 1]);
        assert_eq!(Suppression::Greedy.pick(&[1.0, 1.0, 1.0], 3, 1, 2), [0, 1]);
    }
}
