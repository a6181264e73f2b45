//! RMSE of reconstructions (the paper's Table 1).

use std::iter::Sum;
use std::ops::Add;

use thiserror::Error;

/// Why two images cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PixelError {
    /// They differ in size.
    #[error("{expected} pixel values expected, {actual} found")]
    Length {
        /// Values in the true image.
        expected: usize,
        /// Values in the reconstruction.
        actual: usize,
    },
    /// One of them holds a NaN or an infinity.
    #[error("pixel value {index} is not finite")]
    NotFinite {
        /// Its position.
        index: usize,
    },
}

/// Squared differences summed image by image, in `f64`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SquaredError {
    sum: f64,
    value_count: u64,
}

impl SquaredError {
    /// The squared error of one image; pixel values are meant to lie in [0, 1].
    ///
    /// # Errors
    /// [`PixelError`] if the images differ in length or hold a value that is not finite.
    pub fn between(expected: &[f32], actual: &[f32]) -> Result<Self, PixelError> {
        if expected.len() != actual.len() {
            return Err(PixelError::Length {
                expected: expected.len(),
                actual: actual.len(),
            });
        }
        let mut error = Self::default();
        for (index, (&expected, &actual)) in expected.iter().zip(actual).enumerate() {
            if !(expected.is_finite() && actual.is_finite()) {
                return Err(PixelError::NotFinite { index });
            }
            let difference = f64::from(expected) - f64::from(actual);
            error.sum += difference * difference;
            error.value_count += 1;
        }
        Ok(error)
    }

    /// Adds another image; on an error nothing is added.
    ///
    /// # Errors
    /// As [`SquaredError::between`].
    pub fn add_image(&mut self, expected: &[f32], actual: &[f32]) -> Result<(), PixelError> {
        *self = *self + Self::between(expected, actual)?;
        Ok(())
    }

    /// Root of the mean square over all pixels of all images; `None` without pixels.
    pub fn rmse(self) -> Option<f64> {
        (self.value_count > 0).then(|| (self.sum / self.value_count as f64).sqrt())
    }
}

impl Add for SquaredError {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            sum: self.sum + other.sum,
            value_count: self.value_count + other.value_count,
        }
    }
}

impl Sum for SquaredError {
    fn sum<I: Iterator<Item = Self>>(errors: I) -> Self {
        errors.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_mean_is_over_pixels_of_all_images_before_the_root() {
        // Squares: 1 + 0, then .25 * 2: sum 1.5 over 6 values, root of .25.
        let mut error = SquaredError::default();
        error.add_image(&[1.0, 0.5], &[0.0, 0.5]).unwrap();
        error
            .add_image(&[0.5, 0.5, 0.0, 0.0], &[0.0, 1.0, 0.0, 0.0])
            .unwrap();
        assert_eq!(error.rmse(), Some(0.5));
    }

    #[test]
    fn refused_images_leave_the_sum_as_it_was() {
        let mut error = SquaredError::between(&[1.0], &[0.5]).unwrap();
        assert_eq!(
            error.add_image(&[1.0, 1.0], &[0.0]),
            Err(PixelError::Length {
                expected: 2,
                actual: 1
            })
        );
        assert_eq!(
            error.add_image(&[0.0, 1.0], &[1.0, f32::NAN]),
            Err(PixelError::NotFinite { index: 1 })
        );
        assert_eq!(error.rmse(), Some(0.5));
    }

    #[test]
    fn nothing_has_no_rmse() {
        assert_eq!(SquaredError::default().rmse(), None);
        assert_eq!(SquaredError::between(&[], &[]).unwrap().rmse(), None);
    }

    proptest! {
        #[test]
        fn within_the_pixel_range_and_symmetric(
            pixels in vec((0.0_f32..=1.0, 0.0_f32..=1.0), 1..40)
        ) {
            let (expected, actual): (Vec<_>, Vec<_>) = pixels.into_iter().unzip();
            let rmse = SquaredError::between(&expected, &actual).unwrap().rmse();
            prop_assert!(rmse.is_some_and(|rmse| (0.0..=1.0).contains(&rmse)));
            prop_assert_eq!(SquaredError::between(&actual, &expected).unwrap().rmse(), rmse);
        }
    }
}
