//! How the learning rates change over a training.

use serde::{Deserialize, Serialize};

/// Rises over the first steps, stays, then falls along half a cosine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// Steps of linear rise.
    pub warmup_steps: u64,
    /// Share of the training after which the rates fall; 1 keeps them.
    pub decay_from: f32,
    /// What is left of the rates at the end.
    pub final_share: f32,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            warmup_steps: 0,
            decay_from: 1.0,
            final_share: 0.0,
        }
    }
}

impl Schedule {
    /// The factor on the rates at a step of `total`.
    pub fn factor(&self, step: u64, total: u64) -> f32 {
        let rise = if step < self.warmup_steps {
            (step + 1) as f32 / self.warmup_steps as f32
        } else {
            1.0
        };
        let done = step as f32 / total.max(1) as f32;
        let fallen = ((done - self.decay_from) / (1.0 - self.decay_from)).clamp(0.0, 1.0);
        if self.decay_from >= 1.0 || fallen <= 0.0 {
            return rise;
        }
        let share = 0.5 * (1.0 + (std::f32::consts::PI * fallen).cos());
        rise * (self.final_share + (1.0 - self.final_share) * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_unless_asked_otherwise() {
        let schedule = Schedule::default();
        assert!((0..=100).all(|step| schedule.factor(step, 100) == 1.0));
    }

    #[test]
    fn rises_stays_and_falls() {
        let schedule = Schedule {
            warmup_steps: 10,
            decay_from: 0.5,
            final_share: 0.1,
        };
        assert!((schedule.factor(0, 100) - 0.1).abs() < 1e-6);
        assert_eq!(schedule.factor(30, 100), 1.0);
        assert!((schedule.factor(75, 100) - 0.55).abs() < 1e-3);
        assert!((schedule.factor(100, 100) - 0.1).abs() < 1e-6);
    }
}
