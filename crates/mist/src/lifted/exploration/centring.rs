//! What keeps objects in the middle of their boxes.

use super::pool::{ImageHeatmap, Pool};
use super::{CentringConfig, ChosenSet, Moment};
use crate::geometry::Keypoint;
use crate::lifted::JitterConfig;

/// Left, right, up and down.
const MOVES: [(f32, f32); 4] = [(-1.0, 0.0), (1.0, 0.0), (0.0, -1.0), (0.0, 1.0)];

impl CentringConfig {
    /// The jitter of a step: the usual one until the release, then wider.
    pub(in crate::lifted) fn jitter(&self, usual: JitterConfig, moment: Moment) -> JitterConfig {
        if self.jitter_px == 0.0 || moment.released_at.is_none() {
            return usual;
        }
        JitterConfig {
            shift_px: moment.between(self.jitter_px, self.final_jitter_px),
            ..usual
        }
    }

    /// The moved copies of every own place that recentring compares; they are not part of the pool.
    pub(super) fn moves(&self, own: &[Keypoint], heatmap: ImageHeatmap<'_>) -> Vec<Keypoint> {
        if self.recentre_px == 0.0 {
            return Vec::new();
        }
        let moved = |place: &Keypoint| {
            let place = *place;
            MOVES.map(|(x, y)| heatmap.moved(place, (x * self.recentre_px, y * self.recentre_px)))
        };
        own.iter().flat_map(moved).collect()
    }

    /// Where the keypoint in a slot goes: the mean of its moves, weighted by how much they lower the loss. Only own places
    /// have moves; `first_move` is the number of the first of all.
    pub(super) fn recentred(
        &self,
        pool: &Pool,
        chosen: usize,
        first_move: usize,
        votes: &dyn ChosenSet,
    ) -> Keypoint {
        let place = pool.places[chosen];
        let own = pool.copy_of[chosen] == Some(chosen);
        if self.recentre_px == 0.0 || !own {
            return place;
        }
        let loss = votes.loss();
        let gains: Vec<f32> = (0..MOVES.len())
            .map(|index| {
                let moved = first_move + chosen * MOVES.len() + index;
                loss - votes.loss_after(chosen, moved)
            })
            .collect();
        let most = gains.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let temperature = self.temperature.max(f32::MIN_POSITIVE);
        let (mut x, mut y, mut sum) = (0.0, 0.0, 0.0);
        for (gain, (move_x, move_y)) in gains.iter().zip(MOVES) {
            let weight = ((gain - most) / temperature).exp();
            x += weight * move_x;
            y += weight * move_y;
            sum += weight;
        }
        Keypoint {
            x_px: place.x_px + self.recentre_px * x / sum,
            y_px: place.y_px + self.recentre_px * y / sum,
            ..place
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifted::exploration::ClassVotes;
    use crate::loss::MeanDistance;
    use crate::training::Progress;

    /// One keypoint of class 1, and how well its moves left, right, up and down are read.
    fn recentred(moves: [f32; 4]) -> (f32, f32) {
        let config = CentringConfig {
            recentre_px: 5.0,
            ..CentringConfig::default()
        };
        let place = Keypoint {
            x_px: 30.0,
            y_px: 30.0,
            scale: 1.0,
        };
        let probabilities = [0.9].into_iter().chain(moves);
        let probabilities = probabilities.flat_map(|class_1| [1.0 - class_1, class_1]);
        let labels = vec![0.0, 1.0];
        let votes = ClassVotes::new(MeanDistance::Squared, labels, probabilities.collect(), 1);
        let place = config.recentred(&Pool::new(&[place]), 0, 1, &votes);
        (place.x_px, place.y_px)
    }

    #[test]
    fn a_keypoint_goes_where_it_is_read_better() {
        assert_eq!(recentred([0.7; 4]), (30.0, 30.0));
        let (x, y) = recentred([0.3, 0.9, 0.3, 0.3]);
        assert!((x - 35.0).abs() < 0.1 && (y - 30.0).abs() < 0.1, "{x} {y}");
        let (x, y) = recentred([0.88, 0.9, 0.89, 0.89]);
        assert!(x > 30.0 && x < 31.5 && (y - 30.0).abs() < 1e-3, "{x} {y}");
    }

    #[test]
    fn jitter_is_wide_from_the_release_on_and_shrinks() {
        let centring = CentringConfig {
            jitter_px: 4.0,
            final_jitter_px: 1.0,
            ..CentringConfig::default()
        };
        let usual = JitterConfig {
            shift_px: 0.5,
            ..JitterConfig::default()
        };
        let shift = |centring: CentringConfig, step, released_at| {
            let moment = Moment {
                seed: 1,
                progress: Progress { step, steps: 50 },
                released_at,
            };
            centring.jitter(usual, moment).shift_px
        };
        assert_eq!(shift(centring, 20, None), 0.5);
        assert_eq!(shift(centring, 20, Some(20)), 4.0);
        assert_eq!(shift(centring, 35, Some(20)), 2.5);
        assert_eq!(shift(CentringConfig::default(), 35, Some(20)), 0.5);
    }
}
