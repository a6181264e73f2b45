//! Settings of the method.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::model::{ModelConfig, TaskNetwork};
use crate::settings::{ANGLE_RAD, Bounds, WEIGHT, within};

/// Settings of the method. There are as many landmarks as the model has `instances`, and their boxes are its `base_box_px`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Zha18Config {
    /// Side that images are padded to, a multiple of 8.
    pub canvas_px: usize,
    /// Size of a landmark's code.
    pub code_units: usize,
    /// Weight of the spread of a landmark's pixels.
    pub concentration: f32,
    /// Weight of landmarks that are near each other.
    pub separation: f32,
    /// How near, as a share of the canvas.
    pub separation_deviation: f32,
    /// Weight of landmarks that do not follow a warp.
    pub equivariance: f32,
    /// Weights of what redrawing misses...
    pub reconstruction: [f32; 3],
    /// ...from the first step, and from these steps on.
    pub reconstruction_from: [u64; 2],
    /// Standard deviation of the narrowest maps that the decoder sees, as a share of the canvas; each next one of five is wider by the
    /// root of 2.
    pub map_deviation: f32,
    /// Random warps.
    pub warp: WarpConfig,
}

/// How images are warped: a thin-plate spline of 7 x 7 control points after a similarity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WarpConfig {
    /// Standard deviation of the control points' moves, as a share of their distance.
    pub deviation_frac: f32,
    /// Shifts go at most this far along each axis, as a share of the canvas.
    pub shift_frac: f32,
    /// Standard deviation of rotations.
    pub rotation_rad: f32,
    /// Standard deviation of the logarithm of the scale.
    pub log_scale: f32,
}

impl Default for WarpConfig {
    fn default() -> Self {
        Self {
            deviation_frac: 0.1,
            shift_frac: 0.15,
            rotation_rad: 10.0_f32.to_radians(),
            log_scale: 1.25_f32.ln(),
        }
    }
}

impl Default for Zha18Config {
    fn default() -> Self {
        Self {
            canvas_px: 96,
            code_units: 8,
            concentration: 100.0,
            separation: 20.0,
            separation_deviation: 0.08,
            equivariance: 1e4,
            reconstruction: [0.1, 1.0, 10.0],
            reconstruction_from: [100_000, 200_000],
            map_deviation: 0.125,
            warp: WarpConfig::default(),
        }
    }
}

impl Zha18Config {
    /// The weight of redrawing at a step.
    pub fn reconstruction_at(&self, step: u64) -> f32 {
        let [second, third] = self.reconstruction_from;
        self.reconstruction[usize::from(step >= second) + usize::from(step >= third)]
    }

    /// Refuses impossible settings.
    ///
    /// # Errors
    /// When a number is out of range, or the model's task is not to redraw.
    pub fn check(&self, model: &ModelConfig) -> Result<(), Error> {
        let [first, second, third] = self.reconstruction;
        within([
            ("concentration", self.concentration, WEIGHT),
            ("separation", self.separation, WEIGHT),
            (
                "separation_deviation",
                self.separation_deviation,
                1e-4..=10.0,
            ),
            ("equivariance", self.equivariance, WEIGHT),
            ("reconstruction", first, WEIGHT),
            ("reconstruction", second, WEIGHT),
            ("reconstruction", third, WEIGHT),
            ("map_deviation", self.map_deviation, 1e-3..=10.0),
            ("warp.deviation_frac", self.warp.deviation_frac, 0.0..=1.0),
            ("warp.shift_frac", self.warp.shift_frac, 0.0..=1.0),
            ("warp.rotation_rad", self.warp.rotation_rad, ANGLE_RAD),
            ("warp.log_scale", self.warp.log_scale, 0.0..=2.0),
        ])?;
        Bounds::new("canvas_px", 8, 512).check(self.canvas_px)?;
        Bounds::new("code_units", 1, 256).check(self.code_units)?;
        if !self.canvas_px.is_multiple_of(8) {
            return Err(Error::Setting {
                name: "canvas_px",
                requirement: "a multiple of 8: the hourglass halves it three times".into(),
            });
        }
        match model.task {
            TaskNetwork::Autoencoder { .. } => Ok(()),
            _ => Err(Error::Setting {
                name: "model.task",
                requirement: "an auto-encoder: Zha18 redraws".into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redrawing_counts_for_more_and_more() {
        let config = Zha18Config::default();
        let weights = [0, 99_999, 100_000, 200_000].map(|step| config.reconstruction_at(step));
        assert_eq!(weights, [0.1, 0.1, 1.0, 10.0]);
    }
}
