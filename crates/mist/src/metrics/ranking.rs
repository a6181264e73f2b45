//! Detections of all images in the order of their score, each right or wrong: what average
//! precision is made of.

use std::borrow::Borrow;
use std::cmp::Ordering;

use super::image_result::{ImageResult, overlap};
use crate::geometry::{Detection, Truth};

/// Detections by falling score, with the number of truths of each image.
///
/// Whether a detection is right depends on its own image only, so that one ranking serves every
/// bootstrap resample: a resample says how often each image was drawn.
#[derive(Clone, Debug)]
pub(super) struct Ranking {
    hits: Vec<Hit>,
    truth_counts: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Hit {
    score: f32,
    image: usize,
    is_right: bool,
}

/// The state after one more detection was taken from the top of the ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CurvePoint {
    pub(super) right: usize,
    pub(super) taken: usize,
}

impl Ranking {
    /// Ranks the detections of one class, or of all classes as if they were one. Equal scores rank
    /// by image, then by position; a score that is NaN ranks below all others.
    pub(super) fn new<R: Borrow<ImageResult>>(images: &[R], class: Option<usize>) -> Self {
        let is_of_class = |label: usize| class.is_none_or(|class| class == label);
        let mut hits = Vec::new();
        let mut truth_counts = Vec::with_capacity(images.len());
        for (image, result) in images.iter().enumerate() {
            let result = result.borrow();
            let truths: Vec<_> = result
                .truths
                .iter()
                .filter(|truth| is_of_class(truth.label))
                .collect();
            let mut detections: Vec<_> = result
                .detections
                .iter()
                .filter(|detection| is_of_class(detection.label))
                .collect();
            detections.sort_by(|a, b| by_falling_score(a.score, b.score));
            truth_counts.push(truths.len());
            let rights = match_ranked(&truths, &detections);
            hits.extend(
                detections
                    .iter()
                    .zip(rights)
                    .map(|(detection, is_right)| Hit {
                        score: detection.score,
                        image,
                        is_right,
                    }),
            );
        }
        // Stable, so that images and positions keep their order among equal scores.
        hits.sort_by(|a, b| by_falling_score(a.score, b.score));
        Self { hits, truth_counts }
    }

    /// Truths in all images, where image `i` counts `draws[i]` times.
    pub(super) fn truth_count(&self, draws: &[usize]) -> usize {
        self.truth_counts
            .iter()
            .zip(draws)
            .map(|(truths, drawn)| truths * drawn)
            .sum()
    }

    /// The precision-recall curve as counts, where image `i` counts `draws[i]` times.
    pub(super) fn curve(&self, draws: &[usize]) -> Vec<CurvePoint> {
        let mut point = CurvePoint { right: 0, taken: 0 };
        let mut curve = Vec::with_capacity(self.hits.len());
        for hit in &self.hits {
            let drawn = draws.get(hit.image).copied().unwrap_or(0);
            if drawn == 0 {
                continue;
            }
            point.taken += drawn;
            point.right += if hit.is_right { drawn } else { 0 };
            curve.push(point);
        }
        curve
    }
}

fn by_falling_score(a: f32, b: f32) -> Ordering {
    let rank = |score: f32| {
        if score.is_nan() {
            f32::NEG_INFINITY
        } else {
            score
        }
    };
    rank(b).partial_cmp(&rank(a)).unwrap_or(Ordering::Equal)
}

/// The PASCAL rule: a detection is right if the truth it overlaps most has an IoU of at least .5
/// with it and no better-scored detection has claimed it; it does not fall back on its second-best
/// truth.
fn match_ranked(truths: &[&Truth], ranked: &[&Detection]) -> Vec<bool> {
    let mut is_claimed = vec![false; truths.len()];
    ranked
        .iter()
        .map(|detection| {
            let mut best: Option<(usize, f64)> = None;
            for (index, truth) in truths.iter().enumerate() {
                let iou = overlap(truth, detection);
                if best.is_none_or(|(_, best_iou)| iou > best_iou) {
                    best = Some((index, iou));
                }
            }
            match best {
                Some((index, iou)) if iou >= 0.5 && !is_claimed[index] => {
                    is_claimed[index] = true;
                    true
                }
                _ => false,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::samples::{detection, image, truth};
    use super::*;

    fn curve_of(ranking: &Ranking, draws: &[usize]) -> Vec<(usize, usize)> {
        ranking
            .curve(draws)
            .iter()
            .map(|point| (point.right, point.taken))
            .collect()
    }

    #[test]
    fn a_duplicate_is_wrong_and_does_not_fall_back() {
        let truths = [truth(0.0, 0.0, 10.0, 1.0, 0), truth(2.0, 0.0, 12.0, 1.0, 0)];
        let seen = image(
            &truths,
            &[
                detection(0.0, 0.0, 10.0, 1.0, 0, 0.9),
                detection(0.5, 0.0, 10.5, 1.0, 0, 0.8), // best with truth 0, fits truth 1 as well
                detection(2.0, 0.0, 12.0, 1.0, 0, 0.7),
            ],
        );
        let ranking = Ranking::new(&[seen], None);
        assert_eq!(curve_of(&ranking, &[1]), [(1, 1), (1, 2), (2, 3)]);
    }

    #[test]
    fn ranks_over_all_images_with_nan_last_and_ties_in_order() {
        let right = |score| detection(0.0, 0.0, 1.0, 1.0, 0, score);
        let wrong = |score| detection(5.0, 0.0, 6.0, 1.0, 0, score);
        let there = truth(0.0, 0.0, 1.0, 1.0, 0);
        let images = [
            image(&[there], &[right(f32::NAN), wrong(0.5)]),
            image(&[there], &[right(0.5), wrong(0.75)]),
        ];
        let ranking = Ranking::new(&images, None);
        // .75 wrong; .5 wrong (first image); .5 right (second image); NaN right.
        assert_eq!(
            curve_of(&ranking, &[1, 1]),
            [(0, 1), (0, 2), (1, 3), (2, 4)]
        );
        // The second image drawn twice, the first never.
        assert_eq!(curve_of(&ranking, &[0, 2]), [(0, 2), (2, 4)]);
        assert_eq!(ranking.truth_count(&[0, 2]), 2);
    }
}
