//! Selection of the strongest pixels.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::Selection;

/// Indices of the selected pixels, survivors first, each group in descending order; ties go to the lower index.
///
/// Memory does not grow with the number of pixels: large images have as many as a hundred million.
pub(super) fn top_k(scores: &[f32], survivors: &[bool], selection: Selection) -> Vec<usize> {
    let mut picked = strongest(scores, survivors, true, selection.least(), selection.most());
    if selection.is_filled_up() && picked.len() < selection.most() {
        let missing = selection.most() - picked.len();
        picked.extend(strongest(
            scores,
            survivors,
            false,
            f32::NEG_INFINITY,
            missing,
        ));
    }
    picked
}

fn strongest(
    scores: &[f32],
    survivors: &[bool],
    survived: bool,
    least: f32,
    most: usize,
) -> Vec<usize> {
    let mut kept = BinaryHeap::new();
    for (index, (&score, &survives)) in scores.iter().zip(survivors).enumerate() {
        if survives != survived || score < least {
            continue;
        }
        let pixel = Reverse(Pixel { score, index });
        if kept.len() < most {
            kept.push(pixel);
        } else if let Some(mut weakest) = kept.peek_mut().filter(|weakest| pixel < **weakest) {
            *weakest = pixel;
        }
    }
    // Reversed once more, the strongest come first.
    let sorted = kept.into_sorted_vec();
    sorted
        .into_iter()
        .map(|Reverse(pixel)| pixel.index)
        .collect()
}

/// Larger where the score is, or at a lower index.
#[derive(Clone, Copy, PartialEq)]
struct Pixel {
    score: f32,
    index: usize,
}

impl Eq for Pixel {}

impl Ord for Pixel {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        by_score.then_with(|| other.index.cmp(&self.index))
    }
}

impl PartialOrd for Pixel {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strongest_survivors_come_first_and_ties_by_position() {
        let scores = [0.5, 0.9, 0.5, 0.7];
        let picked = |survivors: [bool; 4], k| top_k(&scores, &survivors, Selection::Strongest(k));
        assert_eq!(picked([true; 4], 3), [1, 3, 0]);
        assert_eq!(picked([true; 4], 4), [1, 3, 0, 2]);
        assert_eq!(picked([true, false, true, false], 3), [0, 2, 1]);
        assert_eq!(picked([true; 4], 0), [0usize; 0]);
        assert_eq!(top_k(&scores, &[true; 4], Selection::AtLeast(0.6)), [1, 3]);
    }
}
