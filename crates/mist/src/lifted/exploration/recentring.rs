//! Keypoints that follow the mean of their moved copies.

use super::pool::Pool;
use super::{ChosenSet, ExchangeConfig};
use crate::geometry::Keypoint;

impl ExchangeConfig {
    /// Whether moved copies pull their keypoint instead of replacing it.
    pub(super) fn recentres(&self) -> bool {
        self.moved_temperature > 0.0
    }

    /// Where a chosen place goes: to the mean of itself and its moved copies, each weighted by how much it would lower
    /// the image's loss. A digit can be read from many places; their mean is its middle.
    pub(super) fn recentred(&self, pool: &Pool, chosen: usize, votes: &dyn ChosenSet) -> Keypoint {
        let own = pool.places[chosen];
        let (mut total, mut x_px, mut y_px) = (1.0, own.x_px, own.y_px);
        let loss = votes.loss();
        for (place, copy) in pool.places.iter().enumerate() {
            let is_copy =
                pool.copy_of[place].is_some() && pool.copy_of[place] == pool.copy_of[chosen];
            if place == chosen || !is_copy {
                continue;
            }
            let gain = loss - votes.loss_after(chosen, place);
            // Beyond this the copy is all that counts.
            let weight = (gain / self.moved_temperature).min(30.0).exp();
            total += weight;
            x_px += weight * copy.x_px;
            y_px += weight * copy.y_px;
        }
        Keypoint {
            x_px: x_px / total,
            y_px: y_px / total,
            ..own
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifted::exploration::ClassVotes;
    use crate::loss::MeanDistance;

    /// One keypoint at x = 10 that should read class 1, and copies 4 px to both sides.
    fn recentred(class_1: [f32; 3]) -> f32 {
        let at = |x_px| Keypoint {
            x_px,
            y_px: 5.0,
            scale: 1.0,
        };
        let mut pool = Pool::new(&[at(10.0)]);
        pool.push(at(6.0), Some(0));
        pool.push(at(14.0), Some(0));
        pool.push(at(90.0), None);
        let probabilities = class_1.into_iter().chain([1.0]);
        let probabilities = probabilities.flat_map(|p| [1.0 - p, p]).collect();
        let votes = ClassVotes::new(MeanDistance::Squared, vec![0.0, 1.0], probabilities, 1);
        let config = ExchangeConfig {
            moved_temperature: 0.02,
            ..ExchangeConfig::default()
        };
        config.recentred(&pool, 0, &votes).x_px
    }

    #[test]
    fn a_keypoint_follows_the_copies_that_read_better_and_no_draw() {
        assert_eq!(recentred([0.9, 0.9, 0.9]), 10.0);
        assert!(recentred([0.9, 0.9, 0.1]) < 9.0);
        assert!((recentred([0.1, 0.1, 1.0]) - 14.0).abs() < 0.1);
    }
}
