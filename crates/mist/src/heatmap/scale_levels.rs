//! The discrete scale space of the heatmap (paper, section 4.1).

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::Error;

/// Limits of the settings.
const MAX_LEVELS: usize = 32;
const SCALES: RangeInclusive<f32> = 0.015_625..=64.0;

/// Ascending, positive scale values, one per channel of the heatmap; the default is [`ScaleLevels::single`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<f32>", into = "Vec<f32>")]
pub struct ScaleLevels(Vec<f32>);

impl Default for ScaleLevels {
    fn default() -> Self {
        Self::single()
    }
}

impl ScaleLevels {
    /// Levels from their values.
    ///
    /// # Errors
    /// When there are none or too many, or they are out of range or not strictly ascending.
    pub fn new(values: Vec<f32>) -> Result<Self, Error> {
        let ascending = values.windows(2).all(|pair| pair[0] < pair[1]);
        let usable = values.iter().all(|value| SCALES.contains(value));
        if !(1..=MAX_LEVELS).contains(&values.len()) || !usable || !ascending {
            return Err(Error::Setting {
                name: "scales",
                requirement: "1 to 32 values from 1/64 to 64, in ascending order".into(),
            });
        }
        Ok(Self(values))
    }

    /// The base size only.
    pub fn single() -> Self {
        Self(vec![1.0])
    }

    /// Five levels from 1/sqrt(2) to sqrt(2), evenly spaced in the logarithm, as in LF-Net.
    pub fn lf_net() -> Self {
        let octaves = [-0.5f64, -0.25, 0.0, 0.25, 0.5];
        Self(octaves.map(|octave| octave.exp2() as f32).to_vec())
    }

    /// The values, ascending.
    pub fn values(&self) -> &[f32] {
        &self.0
    }

    /// How a scale's mass is shared between its two neighbouring levels so that their centre of mass is the
    /// scale (appendix B): `(level, mass)` pairs whose masses sum to one.
    ///
    /// Scales beyond the ends go to the end levels.
    pub fn shares(&self, scale: f32) -> [(usize, f32); 2] {
        let above = self.0.partition_point(|&level| level <= scale);
        if above == 0 {
            return [(0, 1.0), (0, 0.0)];
        }
        if above == self.0.len() {
            return [(above - 1, 1.0), (above - 1, 0.0)];
        }
        let (low, high) = (self.0[above - 1], self.0[above]);
        let share_above = (scale - low) / (high - low);
        [(above - 1, 1.0 - share_above), (above, share_above)]
    }

    /// The first moment of the levels under the given weights, one per level (section 4.1, E_K).
    ///
    /// Without any weight the middle of the range is returned.
    pub fn first_moment(&self, weights: impl Iterator<Item = f32>) -> f32 {
        let (mut mass, mut moment) = (0.0f64, 0.0f64);
        for (&level, weight) in self.0.iter().zip(weights) {
            mass += f64::from(weight);
            moment += f64::from(weight) * f64::from(level);
        }
        let (low, high) = (self.0[0], self.0[self.0.len() - 1]);
        if mass > 0.0 {
            ((moment / mass) as f32).clamp(low, high)
        } else {
            (low + high) / 2.0
        }
    }
}

impl TryFrom<Vec<f32>> for ScaleLevels {
    type Error = Error;

    fn try_from(values: Vec<f32>) -> Result<Self, Error> {
        Self::new(values)
    }
}

impl From<ScaleLevels> for Vec<f32> {
    fn from(levels: ScaleLevels) -> Self {
        levels.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lf_net_levels_are_the_published_ones() {
        let published = [0.707, 0.841, 1.0, 1.189, 1.414];
        for (level, expected) in ScaleLevels::lf_net().values().iter().zip(published) {
            assert!((level - expected).abs() < 5e-4);
        }
    }

    #[test]
    fn bad_levels_are_refused() {
        for values in [
            vec![],
            vec![1.0, 1.0],
            vec![-1.0],
            vec![f32::NAN],
            vec![2.0, 1.0],
        ] {
            assert!(ScaleLevels::new(values).is_err());
        }
    }

    proptest! {
        #[test]
        fn shares_have_the_scale_as_their_centre_of_mass(scale in 0.2f32..3.0) {
            let levels = ScaleLevels::lf_net();
            let mut weights = [0.0; 5];
            for (level, mass) in levels.shares(scale) {
                prop_assert!((0.0..=1.0).contains(&mass));
                weights[level] += mass;
            }
            prop_assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-6);
            let expected = scale.clamp(levels.values()[0], levels.values()[4]);
            prop_assert!((levels.first_moment(weights.into_iter()) - expected).abs() < 1e-5);
        }
    }
}
