//! Places that keypoints may go to.

use rand::{Rng, RngExt};

use crate::random::normals;

use super::PoolConfig;
use crate::geometry::Keypoint;
use crate::heatmap::ScaleLevels;

/// The candidate places of one image: its own keypoints first, then draws, then moved copies.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    /// The places.
    pub places: Vec<Keypoint>,
    /// The keypoint that each place is, or is a moved copy of; `None` for a draw.
    pub copy_of: Vec<Option<usize>>,
}

/// One image's heatmap.
#[derive(Clone, Copy, Debug)]
pub(super) struct ImageHeatmap<'a> {
    /// `[scales, height, width]`
    pub maps: &'a [f32],
    pub levels: &'a ScaleLevels,
    pub height_px: usize,
    pub width_px: usize,
    /// How far apart draws of one set are: half the side of a square.
    pub radius_px: usize,
}

impl Pool {
    /// A pool of an image's own keypoints.
    pub fn new(own: &[Keypoint]) -> Self {
        Self {
            places: own.to_vec(),
            copy_of: (0..own.len()).map(Some).collect(),
        }
    }

    /// Adds a place.
    pub fn push(&mut self, place: Keypoint, copy_of: Option<usize>) {
        self.places.push(place);
        self.copy_of.push(copy_of);
    }
}

impl PoolConfig {
    /// The pool of an image: K own places, `drawn_sets` times K draws and `moved_sets` times K copies moved by a Gaussian
    /// of `moved_px`.
    pub(super) fn candidates(
        &self,
        own: &[Keypoint],
        heatmap: ImageHeatmap<'_>,
        moved_px: f32,
        random: &mut impl Rng,
    ) -> Pool {
        let mut pool = Pool::new(own);
        for _ in 0..self.drawn_sets {
            for place in heatmap.draw(own.len(), self.uniform_frac, random) {
                pool.push(place, None);
            }
        }
        let mut moves = vec![(0.0, 0.0); own.len()];
        for set in 0..self.moved_sets {
            for (index, (place, shift)) in own.iter().zip(&mut moves).enumerate() {
                *shift = match set % 2 {
                    0 => normals(moved_px, random),
                    _ => (-shift.0, -shift.1),
                };
                pool.push(heatmap.moved(*place, *shift), Some(index));
            }
        }
        pool
    }
}

impl ImageHeatmap<'_> {
    /// Gumbel top-K without replacement: the probability of a pixel is its share of the heatmap, mixed with a uniform one,
    /// and the surroundings of a pixel that was drawn are left out, as long as that leaves any.
    pub fn draw(&self, count: usize, uniform_frac: f32, random: &mut impl Rng) -> Vec<Keypoint> {
        let fused = self.fused();
        let sum: f64 = fused.iter().map(|&score| f64::from(score)).sum();
        let mean = (sum / fused.len().max(1) as f64) as f32;
        let mut draws = Vec::with_capacity(count);
        while draws.len() < count && !fused.is_empty() {
            let mut noisy = |&score: &f32| {
                let weight = (1.0 - uniform_frac) * score + uniform_frac * mean;
                // The exponential of ln(weight) plus Gumbel noise: the order is the same.
                let uniform = random.random::<f32>().max(f32::MIN_POSITIVE);
                weight / -uniform.ln().min(-f32::MIN_POSITIVE)
            };
            let mut scores: Vec<f32> = fused.iter().map(&mut noisy).collect();
            let left = draws.len()..count;
            draws.extend(left.map_while(|_| self.take_strongest(&mut scores)));
        }
        draws
    }

    fn area(&self) -> usize {
        self.height_px * self.width_px
    }

    /// Sum over scales, `[height, width]`.
    fn fused(&self) -> Vec<f32> {
        let mut fused = vec![0.0; self.area()];
        for map in self.maps.chunks_exact(self.area()) {
            for (sum, value) in fused.iter_mut().zip(map) {
                *sum += value;
            }
        }
        fused
    }

    /// The pixel with the highest score; its surroundings have none from then on.
    fn take_strongest(&self, scores: &mut [f32]) -> Option<Keypoint> {
        let stronger = |best: (usize, f32), next: (usize, f32)| {
            if next.1 > best.1 { next } else { best }
        };
        let all = scores.iter().copied().enumerate();
        let (index, score) = all.fold((0, f32::NEG_INFINITY), stronger);
        if score == f32::NEG_INFINITY {
            return None;
        }
        let (x, y) = (index % self.width_px, index / self.width_px);
        let around = |centre: usize, side: usize| {
            centre.saturating_sub(self.radius_px)..(centre + self.radius_px + 1).min(side)
        };
        for row in around(y, self.height_px) {
            scores[row * self.width_px..][around(x, self.width_px)].fill(f32::NEG_INFINITY);
        }
        let responses = self.maps.chunks_exact(self.area()).map(|map| map[index]);
        Some(Keypoint {
            x_px: x as f32 + 0.5,
            y_px: y as f32 + 0.5,
            scale: self.levels.first_moment(responses),
        })
    }

    /// A place after a shift in x and y, in the image still.
    pub fn moved(&self, place: Keypoint, (x_px, y_px): (f32, f32)) -> Keypoint {
        Keypoint {
            x_px: (place.x_px + x_px).clamp(0.0, self.width_px as f32),
            y_px: (place.y_px + y_px).clamp(0.0, self.height_px as f32),
            ..place
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const SIDE: usize = 20;

    fn pool(config: PoolConfig, seed: u64) -> Pool {
        let mut maps = vec![0.0; SIDE * SIDE];
        maps[5 * SIDE + 4] = 1.0;
        maps[15 * SIDE + 16] = 1.0;
        let heatmap = ImageHeatmap {
            maps: &maps,
            levels: &ScaleLevels::single(),
            height_px: SIDE,
            width_px: SIDE,
            radius_px: 3,
        };
        let own = [(2.5, 9.5), (12.5, 10.5)].map(|(x_px, y_px)| Keypoint {
            x_px,
            y_px,
            scale: 1.0,
        });
        config.candidates(&own, heatmap, 2.0, &mut ChaCha8Rng::seed_from_u64(seed))
    }

    #[test]
    fn own_places_come_first_then_draws_then_mirrored_copies() {
        let config = PoolConfig {
            drawn_sets: 1,
            uniform_frac: 0.0,
            moved_sets: 2,
            ..PoolConfig::default()
        };
        let pool = pool(config, 1);
        let expected = [0, 1].map(Some);
        assert_eq!(pool.copy_of[..2], expected);
        assert_eq!(
            pool.copy_of[2..],
            [None, None, Some(0), Some(1), Some(0), Some(1)]
        );
        let mut drawn: Vec<_> = pool.places[2..4].iter().map(|p| (p.x_px, p.y_px)).collect();
        drawn.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert_eq!(drawn, [(4.5, 5.5), (16.5, 15.5)]);
        let (own, first, second) = (pool.places[1], pool.places[5], pool.places[7]);
        assert_ne!(own, first);
        assert!((first.x_px + second.x_px - 2.0 * own.x_px).abs() < 1e-4);
        assert!((first.y_px + second.y_px - 2.0 * own.y_px).abs() < 1e-4);
    }

    #[test]
    fn a_full_image_is_drawn_from_again() {
        let config = PoolConfig {
            drawn_sets: 1,
            ..PoolConfig::default()
        };
        let heatmap = ImageHeatmap {
            maps: &[0.5; 16],
            levels: &ScaleLevels::single(),
            height_px: 4,
            width_px: 4,
            radius_px: 3,
        };
        let own = vec![
            Keypoint {
                x_px: 2.0,
                y_px: 2.0,
                scale: 1.0,
            };
            5
        ];
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let pool = config.candidates(&own, heatmap, 1.0, &mut random);
        assert_eq!(pool.places.len(), 10);
    }

    #[test]
    fn draws_follow_the_heatmap_the_uniform_share_and_the_seed() {
        let config = |uniform_frac| PoolConfig {
            drawn_sets: 8,
            uniform_frac,
            ..PoolConfig::default()
        };
        let at_a_peak = |pool: &Pool| {
            let drawn = pool.places[2..].iter();
            drawn.filter(|p| p.x_px == 4.5 || p.x_px == 16.5).count()
        };
        assert_eq!(at_a_peak(&pool(config(0.0), 1)), 16);
        assert!(at_a_peak(&pool(config(1.0), 1)) < 8);
        assert_eq!(pool(config(0.5), 1).places, pool(config(0.5), 1).places);
        assert_ne!(pool(config(0.5), 1).places, pool(config(0.5), 2).places);
    }
}
