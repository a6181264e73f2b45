//! Contrast of images whose range of values is not known beforehand.

/// Share of the values that may fall below the darkest and above the brightest gray.
const CLIPPED_FRAC: f64 = 0.001;

/// The values that become black and white.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Contrast {
    black: f32,
    white: f32,
}

impl Contrast {
    /// The range from the 0.1th to the 99.9th percentile of the finite values; all of it where that
    /// would leave a single value, as in an image that is dark but for a few bright spots.
    pub fn measure(values: impl Iterator<Item = f32>) -> Self {
        let mut values: Vec<f32> = values.filter(|value| value.is_finite()).collect();
        let Some(last) = values.len().checked_sub(1) else {
            return Self {
                black: 0.0,
                white: 0.0,
            };
        };
        let clipped = (last as f64 * CLIPPED_FRAC) as usize;
        let mut range = |below: usize| {
            let (_, &mut black, _) = values.select_nth_unstable_by(below, f32::total_cmp);
            let (_, &mut white, _) = values.select_nth_unstable_by(last - below, f32::total_cmp);
            Self { black, white }
        };
        let percentiles = range(clipped);
        if percentiles.white > percentiles.black {
            percentiles
        } else {
            range(0)
        }
    }

    /// The value as a gray value in `[0, 1]`; black where it is not a number, or where all values
    /// are the same.
    pub fn apply(self, value: f32) -> f32 {
        let (black, white) = (f64::from(self.black), f64::from(self.white));
        if white > black && !value.is_nan() {
            ((f64::from(value) - black) / (white - black)).clamp(0.0, 1.0) as f32
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hot_pixel_does_not_take_the_contrast() {
        let values = (0..4000).map(|value| if value == 7 { 65_535.0 } else { value as f32 });
        let contrast = Contrast::measure(values);
        assert!(contrast.apply(3990.0) > 0.99);
        assert_eq!(contrast.apply(65_535.0), 1.0);
        assert_eq!(contrast.apply(0.0), 0.0);
    }

    #[test]
    fn a_few_bright_spots_on_black_stay_visible() {
        let values = (0..40_000).map(|place| if place == 9 { 300.0 } else { 5.0 });
        let contrast = Contrast::measure(values);
        assert_eq!((contrast.apply(5.0), contrast.apply(300.0)), (0.0, 1.0));
    }

    #[test]
    fn no_values_and_one_value_and_no_numbers_become_black() {
        for values in [vec![], vec![7.0; 10], vec![f32::NAN; 3]] {
            let contrast = Contrast::measure(values.into_iter());
            assert_eq!(contrast.apply(7.0), 0.0);
        }
        let extremes = [f32::MIN, 0.0, f32::MAX, f32::NAN, f32::INFINITY];
        let contrast = Contrast::measure(extremes.into_iter());
        let grays = extremes.map(|value| contrast.apply(value));
        assert_eq!(grays, [0.0, 0.5, 1.0, 0.0, 1.0]);
    }
}
