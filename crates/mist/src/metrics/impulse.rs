//! Precision, recall and F1 of found impulses, for the paper's Gabor noise, where an instance is a
//! point.

use super::assignment::heaviest_pairs;
use super::pairing::Pair;
use super::ratio::MatchCounts;
use crate::geometry::Keypoint;

/// How far a found impulse may lie from the true one, unless told otherwise.
pub const IMPULSE_RADIUS_PX: f64 = 2.0;

/// One image's one-to-one pairs of points at most `radius_px` apart: as many as possible, and among
/// those the ones with the least total distance. Scales are not looked at.
///
/// A point with a coordinate that is not finite pairs with none, nor does any under a radius that
/// is negative or NaN.
pub fn impulse_pairs(truths: &[Keypoint], found: &[Keypoint], radius_px: f64) -> Vec<Pair> {
    // One more pair must outweigh any saving in distance over all the others.
    let pair_weight = 1.0 + truths.len().min(found.len()) as f64;
    heaviest_pairs(truths.len(), found.len(), |truth, detection| {
        let distance_px = distance_px(&truths[truth], &found[detection]);
        // A radius of 0 leaves a distance of 0 only, as whole a match as can be.
        let distance_frac = if distance_px > 0.0 {
            distance_px / radius_px
        } else {
            0.0
        };
        (distance_px <= radius_px).then_some(pair_weight - distance_frac)
    })
}

/// One image's counts under [`impulse_pairs`]; the sum over images gives precision, recall and F1.
pub fn impulse_of(truths: &[Keypoint], found: &[Keypoint], radius_px: f64) -> MatchCounts {
    MatchCounts {
        matched: impulse_pairs(truths, found, radius_px).len(),
        truths: truths.len(),
        detections: found.len(),
    }
}

fn distance_px(a: &Keypoint, b: &Keypoint) -> f64 {
    let x_px = f64::from(a.x_px) - f64::from(b.x_px);
    let y_px = f64::from(a.y_px) - f64::from(b.y_px);
    x_px.hypot(y_px)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::samples::is_fraction;
    use super::*;

    fn points(coordinates: &[(f32, f32)]) -> Vec<Keypoint> {
        coordinates
            .iter()
            .map(|&(x_px, y_px)| Keypoint {
                x_px,
                y_px,
                scale: 1.0,
            })
            .collect()
    }

    #[test]
    fn more_pairs_win_over_nearer_pairs() {
        // In a row: truth 0, found 1, truth 1.5, found 3.25 px. The nearest pair (1.5 with 1) would
        // leave 0 and 3.25 alone; 0 with 1 and 1.5 with 3.25 are 1 and 1.75 px apart.
        let truths = points(&[(0.0, 0.0), (1.5, 0.0)]);
        let found = points(&[(1.0, 0.0), (3.25, 0.0)]);
        let pairs = impulse_pairs(&truths, &found, IMPULSE_RADIUS_PX);
        let expected = [
            Pair {
                truth: 0,
                detection: 0,
            },
            Pair {
                truth: 1,
                detection: 1,
            },
        ];
        assert_eq!(pairs, expected);
    }

    #[test]
    fn the_radius_is_included_and_a_point_serves_once() {
        let truths = points(&[(0.0, 0.0), (0.5, 0.0)]);
        let found = points(&[(0.0, 2.0), (9.0, 9.0), (f32::NAN, 0.0)]);
        // (0, 2) is 2 px from the first truth and 2.06 from the second: one pair, P 1/3, R 1/2.
        let counts = impulse_of(&truths, &found, 2.0);
        assert_eq!(
            counts,
            MatchCounts {
                matched: 1,
                truths: 2,
                detections: 3
            }
        );
        assert_eq!(counts.f1(), Some(0.4));
    }

    #[test]
    fn odd_radii_are_defined() {
        let same = points(&[(3.0, 4.0)]);
        assert_eq!(impulse_of(&same, &same, 0.0).matched, 1);
        for radius_px in [-1.0, f64::NAN] {
            assert_eq!(impulse_of(&same, &same, radius_px).matched, 0);
        }
        let far = points(&[(f32::MAX, 0.0), (f32::INFINITY, 0.0), (-f32::MAX, 1.0)]);
        for radius_px in [f64::MAX, f64::INFINITY] {
            assert_eq!(impulse_of(&far, &far, radius_px).matched, 2);
        }
    }

    proptest! {
        #[test]
        fn fractions_and_symmetric(
            truths in vec((0.0_f32..8.0, 0.0_f32..8.0), 0..8),
            found in vec((0.0_f32..8.0, 0.0_f32..8.0), 0..8),
        ) {
            let (truths, found) = (points(&truths), points(&found));
            let counts = impulse_of(&truths, &found, IMPULSE_RADIUS_PX);
            let rates = [counts.precision(), counts.recall(), counts.f1()];
            prop_assert!(rates.into_iter().all(is_fraction));
            let swapped = impulse_of(&found, &truths, IMPULSE_RADIUS_PX);
            prop_assert_eq!(swapped.matched, counts.matched);
        }
    }
}
