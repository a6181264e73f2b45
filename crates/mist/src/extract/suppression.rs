//! Which pixels may stand beside stronger ones.

use serde::{Deserialize, Serialize};

use super::Selection;
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
    /// As [`Suppression::pick`], for maps that no extractor sees.
    pub(crate) fn places(
        self,
        scores: &[f32],
        width: usize,
        window_px: usize,
        selection: Selection,
    ) -> Vec<usize> {
        self.pick(scores, width, window_px, selection)
    }

    /// Indices of the selected pixels that are left, strongest first, then of the strongest that are not.
    pub(super) fn pick(
        self,
        scores: &[f32],
        width: usize,
        window_px: usize,
        selection: Selection,
    ) -> Vec<usize> {
        let survivors = match self {
            Self::LocalMaxima => local_maxima(scores, width, window_px),
            Self::Greedy => taken_in_turn(scores, width, window_px, selection),
        };
        top_k(scores, &survivors, selection)
    }
}

/// Marks the pixels that are taken; ties go to the lower index.
fn taken_in_turn(
    scores: &[f32],
    width: usize,
    window_px: usize,
    selection: Selection,
) -> Vec<bool> {
    let radius = window_px / 2;
    let height = scores.len() / width;
    let mut left = scores.to_vec();
    let mut taken = vec![false; scores.len()];
    // The best of each row, so that not every pixel is looked at for every keypoint.
    let mut best: Vec<(usize, f32)> = left.chunks_exact(width).map(strongest).collect();
    for _ in 0..selection.most() {
        let rows: Vec<f32> = best.iter().map(|(_, score)| *score).collect();
        let (y, score) = strongest(&rows);
        if score == f32::NEG_INFINITY || score < selection.least() {
            break;
        }
        let x = best[y].0;
        taken[y * width + x] = true;
        let columns = x.saturating_sub(radius)..=(x + radius).min(width - 1);
        for row in y.saturating_sub(radius)..=(y + radius).min(height - 1) {
            let line = &mut left[row * width..][..width];
            line[columns.clone()].fill(f32::NEG_INFINITY);
            if columns.contains(&best[row].0) {
                best[row] = strongest(line);
            }
        }
    }
    taken
}

/// Where the largest value stands, the first of equals, and the value.
fn strongest(values: &[f32]) -> (usize, f32) {
    let stronger =
        |best: (usize, f32), next: (usize, f32)| if next.1 > best.1 { next } else { best };
    let values = values.iter().copied().enumerate();
    values.fold((0, f32::NEG_INFINITY), stronger)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Two hills, the tops five pixels apart: the weaker top sees the stronger one's slope two pixels away.
    const HILLS: [f32; 9] = [0.0, 0.7, 1.0, 0.8, 0.6, 0.4, 0.3, 0.5, 0.1];

    #[test]
    fn only_greedy_suppression_sees_past_a_slope() {
        let places =
            |suppression: Suppression| suppression.pick(&HILLS, 9, 7, Selection::Strongest(2));
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
        assert_eq!(
            Suppression::Greedy.pick(&scores, 3, 3, Selection::Strongest(5)),
            [0, 8, 2, 6, 1]
        );
        assert_eq!(
            Suppression::Greedy.pick(&[1.0, 1.0, 1.0], 3, 1, Selection::Strongest(2)),
            [0, 1]
        );
    }

    #[test]
    fn a_response_selects_maxima_and_nothing_else() {
        let places = |suppression: Suppression, least: f32| {
            suppression.pick(&HILLS, 9, 3, Selection::AtLeast(least))
        };
        for suppression in [Suppression::LocalMaxima, Suppression::Greedy] {
            assert_eq!(places(suppression, 0.9), [2]);
            assert_eq!(places(suppression, 1.1), [0usize; 0]);
        }
        assert_eq!(places(Suppression::LocalMaxima, 0.5), [2, 7]);
    }
}
