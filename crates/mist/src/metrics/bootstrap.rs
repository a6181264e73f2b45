//! 95% percentile bootstrap intervals over the images of a test set.

use std::iter::Sum;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// A 95% interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The 2.5% quantile of the resampled values.
    pub low: f64,
    /// The 97.5% quantile of the resampled values.
    pub high: f64,
}

/// Resampling of images with replacement. The same seed and number of images give the same draws,
/// on any platform and for every statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bootstrap {
    /// How many sets of images are drawn.
    pub resamples: usize,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self {
            resamples: 1000,
            seed: 0,
        }
    }
}

impl Bootstrap {
    /// The interval of a statistic of the drawn images' numbers.
    ///
    /// A resample without a finite value (say, recall over images without truths) is passed over;
    /// `None` if there is no other, and without images.
    pub fn interval_of_draws(
        &self,
        image_count: usize,
        mut statistic: impl FnMut(&[usize]) -> Option<f64>,
    ) -> Option<Interval> {
        if image_count == 0 {
            return None;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut drawn = vec![0; image_count];
        let mut values = Vec::with_capacity(self.resamples);
        for _ in 0..self.resamples {
            drawn.fill_with(|| rng.random_range(0..image_count));
            values.extend(statistic(&drawn).filter(|value| value.is_finite()));
        }
        values.sort_unstable_by(f64::total_cmp);
        Some(Interval {
            low: quantile(&values, 0.025)?,
            high: quantile(&values, 0.975)?,
        })
    }

    /// The interval of a value of what the images add up to, such as a
    /// [`Ratio`](super::Ratio), [`MatchCounts`](super::MatchCounts) or
    /// [`SquaredError`](super::SquaredError) each.
    pub fn interval_of_sums<T: Copy + Sum>(
        &self,
        per_image: &[T],
        value: impl Fn(T) -> Option<f64>,
    ) -> Option<Interval> {
        self.interval_of_draws(per_image.len(), |drawn| {
            value(drawn.iter().map(|&image| per_image[image]).sum())
        })
    }

    /// The interval of any statistic of a list of images.
    pub fn interval_of<'a, T>(
        &self,
        images: &'a [T],
        statistic: impl Fn(&[&'a T]) -> Option<f64>,
    ) -> Option<Interval> {
        self.interval_of_draws(images.len(), |drawn| {
            let resample: Vec<&'a T> = drawn.iter().map(|&image| &images[image]).collect();
            statistic(&resample)
        })
    }
}

/// The quantile of sorted values with linear interpolation between neighbours, NumPy's default.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let position = share * sorted.len().checked_sub(1)? as f64;
    let below = sorted.get(position.floor() as usize)?;
    let above = sorted.get(position.ceil() as usize)?;
    Some(below + (above - below) * position.fract())
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::iou50::{iou50, iou50_of};
    use super::super::ratio::Ratio;
    use super::super::samples::random_images;
    use super::*;

    #[test]
    fn quantiles_are_those_of_numpy() {
        // numpy.quantile([1, 2, 4, 8], [0, .025, .5, .975, 1]) = 1, 1.075, 3, 7.7, 8.
        let values = [1.0, 2.0, 4.0, 8.0];
        for (share, expected) in [
            (0.0, 1.0),
            (0.025, 1.075),
            (0.5, 3.0),
            (0.975, 7.7),
            (1.0, 8.0),
        ] {
            assert!((quantile(&values, share).unwrap() - expected).abs() < 1e-12);
        }
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn the_interval_of_a_proportion_is_near_the_normal_one() {
        // 80 of 400: .2 +- 1.96 * sqrt(.2 * .8 / 400) = .2 +- .0392.
        let images: Vec<_> = (0..400)
            .map(|i| Ratio::of_counts(usize::from(i % 5 == 0), 1))
            .collect();
        let interval = Bootstrap::default()
            .interval_of_sums(&images, Ratio::value)
            .unwrap();
        assert!((interval.low - 0.1608).abs() < 0.006, "{interval:?}");
        assert!((interval.high - 0.2392).abs() < 0.006, "{interval:?}");
    }

    #[test]
    fn seeds_repeat_and_differ() {
        let images: Vec<_> = (0..50).map(|i| Ratio::of_counts(i, 50)).collect();
        let with_seed = |seed| {
            Bootstrap {
                resamples: 100,
                seed,
            }
            .interval_of_sums(&images, Ratio::value)
        };
        assert_eq!(with_seed(7), with_seed(7));
        assert_ne!(with_seed(7), with_seed(8));
    }

    #[test]
    fn undefined_statistics_have_no_interval() {
        let bootstrap = Bootstrap::default();
        assert_eq!(
            bootstrap.interval_of_sums(&[Ratio::default()], Ratio::value),
            None
        );
        assert_eq!(bootstrap.interval_of_sums(&[], Ratio::value), None);
        assert_eq!(bootstrap.interval_of(&[1.0], |_| Some(f64::NAN)), None);
        let none = Bootstrap {
            resamples: 0,
            seed: 0,
        };
        assert_eq!(none.interval_of(&[1.0], |_| Some(1.0)), None);
    }

    proptest! {
        #[test]
        fn sums_and_lists_agree(images in random_images()) {
            let bootstrap = Bootstrap { resamples: 20, seed: 3 };
            let shares: Vec<_> = images.iter().map(iou50_of).collect();
            prop_assert_eq!(
                bootstrap.interval_of_sums(&shares, Ratio::value),
                bootstrap.interval_of(&images, iou50)
            );
        }

        #[test]
        fn ordered_and_within_the_range_of_the_values(values in vec(0.0_f64..1.0, 1..20)) {
            let shares: Vec<_> =
                values.iter().map(|&value| Ratio { numerator: value, denominator: 1.0 }).collect();
            let bootstrap = Bootstrap { resamples: 50, seed: 1 };
            let interval = bootstrap.interval_of_sums(&shares, Ratio::value).unwrap();
            prop_assert!(0.0 <= interval.low && interval.high < 1.0);
            prop_assert!(interval.low <= interval.high);
        }
    }
}
