//! Exchanges of keypoints for better places.

use super::pool::Pool;
use super::{ChosenSet, ExchangeConfig};
use crate::geometry::Keypoint;

impl ExchangeConfig {
    /// Makes the exchanges of one image, each time the one that lowers the loss most among those that lower it by more
    /// than their margin. `chosen` are the places of the keypoints in the pool. Returns how many it made.
    pub(super) fn exchange(
        &self,
        pool: &Pool,
        chosen: &mut [usize],
        votes: &mut dyn ChosenSet,
    ) -> usize {
        for made in 0..self.limit {
            let Some((slot, place)) = self.best(pool, chosen, votes) else {
                return made;
            };
            votes.exchange(chosen[slot], place);
            chosen[slot] = place;
        }
        self.limit
    }

    /// Which keypoint makes way for which place; ties go to the first.
    fn best(&self, pool: &Pool, chosen: &[usize], votes: &dyn ChosenSet) -> Option<(usize, usize)> {
        let loss = votes.loss();
        let mut best = None;
        let mut most = 0.0;
        for place in 0..pool.places.len() {
            if chosen.contains(&place) {
                continue;
            }
            for slot in self.free_slots(pool, chosen, place) {
                let out = chosen[slot];
                let is_copy =
                    pool.copy_of[place].is_some() && pool.copy_of[place] == pool.copy_of[out];
                let margin = if is_copy {
                    self.moved_margin
                } else {
                    self.margin
                };
                let gain = loss - votes.loss_after(out, place);
                if gain > margin && gain > most {
                    (best, most) = (Some((slot, place)), gain);
                }
            }
        }
        best
    }

    /// The keypoints that a place may replace: all others must be far enough from it.
    fn free_slots(
        &self,
        pool: &Pool,
        chosen: &[usize],
        place: usize,
    ) -> impl Iterator<Item = usize> {
        let place = pool.places[place];
        let near =
            |slot: usize| distance_px(pool.places[chosen[slot]], place) < self.min_distance_px;
        let mut near = (0..chosen.len()).filter(|&slot| near(slot));
        match (near.next(), near.next()) {
            (None, _) => 0..chosen.len(),
            (Some(only), None) => only..only + 1,
            (Some(_), Some(_)) => 0..0,
        }
    }
}

fn distance_px(a: Keypoint, b: Keypoint) -> f32 {
    (a.x_px - b.x_px).hypot(a.y_px - b.y_px)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifted::exploration::ClassVotes;
    use crate::loss::MeanDistance;

    /// Two keypoints that read class 0, where there is one of each; places that read class 1, by x.
    fn toy(places: &[(f32, Option<usize>, f32)]) -> (Pool, ClassVotes) {
        let at = |x_px| Keypoint {
            x_px,
            y_px: 0.0,
            scale: 1.0,
        };
        let mut pool = Pool::new(&[at(0.0), at(20.0)]);
        let mut probabilities = vec![1.0, 0.0, 1.0, 0.0];
        for &(x_px, copy_of, class_1) in places {
            pool.push(at(x_px), copy_of);
            probabilities.extend([1.0 - class_1, class_1]);
        }
        let votes = ClassVotes::new(MeanDistance::Squared, vec![0.5, 0.5], probabilities, 2);
        (pool, votes)
    }

    fn chosen(config: ExchangeConfig, places: &[(f32, Option<usize>, f32)]) -> (usize, [usize; 2]) {
        let (pool, mut votes) = toy(places);
        let mut chosen = [0, 1];
        let made = config.exchange(&pool, &mut chosen, &mut votes);
        (made, chosen)
    }

    fn config() -> ExchangeConfig {
        ExchangeConfig {
            limit: 5,
            ..ExchangeConfig::default()
        }
    }

    #[test]
    fn the_one_exchange_that_lowers_the_loss_most_is_made() {
        let places = [(40.0, None, 0.4), (60.0, None, 0.9), (80.0, None, 0.5)];
        assert_eq!(chosen(config(), &places), (1, [3, 1]));
        let none = ExchangeConfig::default();
        assert_eq!(chosen(none, &places), (0, [0, 1]));
    }

    #[test]
    fn a_place_near_a_keypoint_replaces_that_one_or_none() {
        assert_eq!(chosen(config(), &[(23.0, None, 1.0)]), (1, [0, 2]));
        let wide = ExchangeConfig {
            min_distance_px: 15.0,
            ..config()
        };
        assert_eq!(chosen(wide, &[(10.0, None, 1.0)]), (0, [0, 1]));
    }

    #[test]
    fn margins_hold_draws_back_and_let_copies_move() {
        let high = ExchangeConfig {
            margin: 10.0,
            ..config()
        };
        assert_eq!(chosen(high, &[(40.0, None, 1.0)]), (0, [0, 1]));
        assert_eq!(chosen(high, &[(22.0, Some(1), 1.0)]), (1, [0, 2]));
        assert_eq!(chosen(high, &[(40.0, Some(1), 1.0)]), (1, [0, 2]));
        let still = ExchangeConfig {
            moved_margin: 10.0,
            ..config()
        };
        assert_eq!(chosen(still, &[(22.0, Some(1), 1.0)]), (0, [0, 1]));
    }
}
