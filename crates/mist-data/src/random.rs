//! Randomness that never changes under our feet.
//!
//! Distributions are written out here, on the bare output of ChaCha8 and on `libm`: those of the
//! random-number crates may change between releases, and the system's `sin` and `exp` between
//! machines, either of which would change every scene of a published seed.

use std::f32::consts::TAU;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

use crate::split::Split;

/// Above this, a product of uniforms could underflow; Poisson variables add, so means are split.
const POISSON_STEP: f64 = 16.0;

/// The random stream of one scene.
pub(crate) struct SceneRng(ChaCha8Rng);

impl SceneRng {
    /// The key is a hash of all that names the scene, so that no two scenes share a stream.
    pub fn new(kind: &str, seed: u64, split: Split, index: u64) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"mist scene 1\0");
        hash.update(kind.as_bytes());
        hash.update([0]);
        hash.update(split.name().as_bytes());
        hash.update([0]);
        hash.update(seed.to_le_bytes());
        hash.update(index.to_le_bytes());
        Self(ChaCha8Rng::from_seed(hash.finalize().into()))
    }

    /// Uniform in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in `(0, 1]`, for logarithms.
    pub fn positive_unit(&mut self) -> f64 {
        1.0 - self.unit()
    }

    /// Uniform in `[low, high)`.
    pub fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Uniform in `0..count`; the bias of the multiplication is below `count / 2^64`.
    pub fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.0.next_u64()) * count as u128) >> 64) as usize
    }

    /// Uniform among the whole numbers from `low` to `high`, both included.
    pub fn whole(&mut self, low: i32, high: i32) -> i32 {
        let count = i64::from(high) - i64::from(low) + 1;
        low + self.below(count.max(1) as usize) as i32
    }

    /// Two independent standard normals (Box and Muller), in single precision: images take
    /// thousands of them.
    pub fn normals(&mut self) -> [f32; 2] {
        let bits = self.0.next_u64();
        let unit = |half: u64| half as f32 / (1_u64 << 32) as f32;
        let radius = (-2.0 * libm::logf(unit((bits >> 32) + 1))).sqrt();
        let (sin, cos) = libm::sincosf(TAU * unit(bits & 0xffff_ffff));
        [radius * cos, radius * sin]
    }

    /// A Poisson variable (Knuth's product of uniforms).
    pub fn poisson(&mut self, mean: f64) -> usize {
        let mut count = 0;
        let mut left = mean;
        while left > 0.0 {
            let limit = libm::exp(-left.min(POISSON_STEP));
            let mut product = self.positive_unit();
            while product > limit {
                count += 1;
                product *= self.positive_unit();
            }
            left -= POISSON_STEP;
        }
        count
    }

    /// Moves `count` random items to the front, in random order, and drops the others.
    pub fn choose<T>(&mut self, items: &mut Vec<T>, count: usize) {
        let count = count.min(items.len());
        for place in 0..count {
            let other = place + self.below(items.len() - place);
            items.swap(place, other);
        }
        items.truncate(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rng() -> SceneRng {
        SceneRng::new("test", 7, Split::Train, 0)
    }

    #[test]
    fn each_part_of_the_key_counts() {
        let first = |kind, seed, split, index| SceneRng::new(kind, seed, split, index).unit();
        let base = first("hard", 1, Split::Train, 2);
        assert_eq!(base, first("hard", 1, Split::Train, 2));
        for other in [
            first("three", 1, Split::Train, 2),
            first("hard", 2, Split::Train, 2),
            first("hard", 1, Split::Test, 2),
            first("hard", 1, Split::Train, 3),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn moments_are_right() {
        let mut rng = rng();
        let draws = 40_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..draws / 2 {
            for value in rng.normals().map(f64::from) {
                sum += value;
                squares += value * value;
            }
        }
        assert!((sum / f64::from(draws)).abs() < 0.02);
        assert!((squares / f64::from(draws) - 1.0).abs() < 0.03);
        for mean in [0.4, 7.0, 40.0] {
            let total: usize = (0..draws).map(|_| rng.poisson(mean)).sum();
            let measured = total as f64 / f64::from(draws);
            assert!(
                (measured / mean - 1.0).abs() < 0.03,
                "{measured} for {mean}"
            );
        }
    }

    #[test]
    fn choosing_is_uniform_without_repeats() {
        let mut rng = rng();
        let mut seen = [0; 6];
        for _ in 0..6000 {
            let mut items: Vec<usize> = (0..6).collect();
            rng.choose(&mut items, 2);
            assert_eq!(items.len(), 2);
            assert_ne!(items[0], items[1]);
            items.iter().for_each(|&item| seen[item] += 1);
        }
        assert!(
            seen.iter().all(|&count| (1800..2200).contains(&count)),
            "{seen:?}"
        );
    }
}
