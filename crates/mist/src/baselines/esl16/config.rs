//! Settings of the method.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::model::{ModelConfig, TaskNetwork};
use crate::settings::{Bounds, within};

/// Settings of the method. The window's side is the model's `patch_px`, the most steps its `instances`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Esl16Config {
    /// Side of the square images: the recurrent network reads them whole.
    pub canvas_px: usize,
    /// Units of the recurrent network.
    pub lstm_units: usize,
    /// Units of the hidden layer of each head.
    pub head_units: usize,
    /// Size of the code of an object.
    pub code_units: usize,
    /// Mean of a scale's prior, before the sigmoid.
    pub scale_mean: f32,
    /// Variance of a scale's prior, before the sigmoid.
    pub scale_variance: f32,
    /// Standard deviation of the noise on a redrawn window, before the sigmoid.
    pub redraw_deviation: f32,
    /// Temperature of the relaxed presence.
    pub temperature: f32,
    /// An image is done when the sum of one less the presence reaches this.
    pub stop_at: f32,
    /// How probable an object is before the image is seen.
    pub presence: PresencePrior,
}

/// Odds that there is one more object, annealed from nearly sure to nearly never.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PresencePrior {
    /// At the first step.
    pub odds: f32,
    /// Factor on them...
    pub decay: f32,
    /// ...every so many steps.
    pub decay_steps: u64,
    /// Never less than this.
    pub least_odds: f32,
}

impl Default for PresencePrior {
    fn default() -> Self {
        Self {
            odds: 1e4,
            decay: 0.1,
            decay_steps: 3000,
            least_odds: 1e-9,
        }
    }
}

impl PresencePrior {
    /// Logarithm of the odds at a step.
    pub fn log_odds(&self, step: u64) -> f32 {
        let decays = step as f64 / self.decay_steps as f64;
        let odds = f64::from(self.odds) * f64::from(self.decay).powf(decays);
        odds.max(f64::from(self.least_odds)).ln() as f32
    }
}

impl Default for Esl16Config {
    fn default() -> Self {
        Self {
            canvas_px: 80,
            lstm_units: 256,
            head_units: 64,
            code_units: 50,
            scale_mean: -1.0,
            scale_variance: 0.05,
            redraw_deviation: 0.3,
            temperature: 1.0,
            stop_at: 0.99,
            presence: PresencePrior::default(),
        }
    }
}

impl Esl16Config {
    /// Refuses impossible settings.
    ///
    /// # Errors
    /// When a number is out of range, or the model's task is not to redraw.
    pub fn check(&self, model: &ModelConfig) -> Result<(), Error> {
        within([
            ("scale_mean", self.scale_mean, -20.0..=20.0),
            ("scale_variance", self.scale_variance, 1e-6..=1e6),
            ("redraw_deviation", self.redraw_deviation, 0.0..=1e3),
            ("temperature", self.temperature, 1e-3..=1e3),
            ("stop_at", self.stop_at, 0.0..=1.0),
            ("presence.odds", self.presence.odds, 1e-30..=1e30),
            ("presence.decay", self.presence.decay, 1e-6..=1.0),
            (
                "presence.least_odds",
                self.presence.least_odds,
                1e-30..=1e30,
            ),
        ])?;
        Bounds::new("canvas_px", 1, 512).check(self.canvas_px)?;
        Bounds::new("presence.decay_steps", 1, 1 << 30)
            .check(usize::try_from(self.presence.decay_steps).unwrap_or(usize::MAX))?;
        for (name, units) in [
            ("lstm_units", self.lstm_units),
            ("head_units", self.head_units),
            ("code_units", self.code_units),
        ] {
            Bounds::new(name, 1, 4096).check(units)?;
        }
        Bounds::new("geometry.patch_px", 1, 128).check(model.geometry.patch_px)?;
        match model.task {
            TaskNetwork::Autoencoder { .. } => Ok(()),
            _ => Err(Error::Setting {
                name: "model.task",
                requirement: "an auto-encoder: Esl16 redraws".into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odds_fall_and_stay_above_the_least() {
        let prior = PresencePrior::default();
        assert!((prior.log_odds(0) - 1e4_f32.ln()).abs() < 1e-5);
        assert!((prior.log_odds(6000) - 1e2_f32.ln()).abs() < 1e-4);
        assert_eq!(prior.log_odds(1_000_000), 1e-9_f32.ln());
    }
}
