//! Checks that settings of files and recipes share.

use std::ops::RangeInclusive;

use crate::Error;

/// Factors and step sizes.
pub(crate) const WEIGHT: RangeInclusive<f32> = 0.0..=1e9;
/// Distances in an image.
pub(crate) const LENGTH_PX: RangeInclusive<f32> = 0.0..=65_536.0;
/// Rotations.
pub(crate) const ANGLE_RAD: RangeInclusive<f32> = 0.0..=std::f32::consts::TAU;

/// The values that an integer setting may have.
pub(crate) struct Bounds {
    name: &'static str,
    least: usize,
    most: usize,
}

impl Bounds {
    /// From `least` to `most`, both included.
    pub fn new(name: &'static str, least: usize, most: usize) -> Self {
        Self { name, least, most }
    }

    /// Refuses a value outside.
    pub fn check(&self, value: usize) -> Result<(), Error> {
        if (self.least..=self.most).contains(&value) {
            return Ok(());
        }
        Err(Error::Setting {
            name: self.name,
            requirement: format!("from {} to {}", self.least, self.most).into(),
        })
    }

    /// Refuses a window outside, or one without a pixel at its centre.
    pub fn check_odd(&self, value: usize) -> Result<(), Error> {
        if value.is_multiple_of(2) {
            return Err(Error::Setting {
                name: self.name,
                requirement: format!("odd, from {} to {}", self.least, self.most).into(),
            });
        }
        self.check(value)
    }
}

/// Refuses the first number that is NaN or infinite.
pub(crate) fn finite<const N: usize>(numbers: [(&'static str, f32); N]) -> Result<(), Error> {
    match numbers.into_iter().find(|(_, value)| !value.is_finite()) {
        Some((name, _)) => Err(Error::Setting {
            name,
            requirement: "finite".into(),
        }),
        None => Ok(()),
    }
}

/// Refuses the first number that is outside of its range, or NaN.
pub(crate) fn within<const N: usize>(
    numbers: [(&'static str, f32, RangeInclusive<f32>); N],
) -> Result<(), Error> {
    let outside = numbers
        .into_iter()
        .find(|(_, value, range)| !range.contains(value));
    match outside {
        Some((name, _, range)) => Err(Error::Setting {
            name,
            requirement: format!("from {} to {}", range.start(), range.end()).into(),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_included_and_windows_odd() {
        let bounds = Bounds::new("window", 1, 9);
        assert!([1, 9].iter().all(|&value| bounds.check(value).is_ok()));
        assert!([0, 10].iter().all(|&value| bounds.check(value).is_err()));
        assert!(bounds.check_odd(7).is_ok());
        assert!(bounds.check_odd(8).is_err() && bounds.check_odd(11).is_err());
        let message = bounds.check(10).unwrap_err().to_string();
        assert_eq!(message, "`window` must be from 1 to 9");
    }

    #[test]
    fn numbers_outside_their_range_are_refused_and_so_is_nan() {
        assert!(within([("share", 0.0, 0.0..=1.0), ("share", 1.0, 0.0..=1.0)]).is_ok());
        for value in [-0.1, 1.1, f32::NAN, f32::INFINITY] {
            let message = within([("share", value, 0.0..=1.0)]).unwrap_err();
            assert_eq!(message.to_string(), "`share` must be from 0 to 1");
        }
    }
}
