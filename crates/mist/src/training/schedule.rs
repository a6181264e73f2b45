//! How learning rates change over a training.

use serde::{Deserialize, Serialize};

/// How far a training has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Steps done.
    pub step: u64,
    /// Steps in all.
    pub steps: u64,
}

/// Frozen, then a linear warm-up, constant, and a cosine decay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// Steps before the first update.
    pub frozen_steps: u64,
    /// Steps of linear warm-up after that.
    pub warmup_steps: u64,
    /// Share of the training after which the learning rate decays; 1 keeps it.
    pub decay_from: f32,
    /// Share of the learning rate that is left at the end.
    pub final_share: f32,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            frozen_steps: 0,
            warmup_steps: 0,
            decay_from: 1.0,
            final_share: 0.0,
        }
    }
}

impl Schedule {
    /// The factor on the learning rate; 0 while frozen.
    pub fn factor(&self, progress: Progress) -> f32 {
        let Some(step) = progress.step.checked_sub(self.frozen_steps) else {
            return 0.0;
        };
        let warm_up = ((step + 1) as f32 / self.warmup_steps.max(1) as f32).min(1.0);
        let done = progress.step as f32 / progress.steps.max(1) as f32;
        if done <= self.decay_from || self.decay_from >= 1.0 {
            return warm_up;
        }
        let decayed = ((done - self.decay_from) / (1.0 - self.decay_from)).min(1.0);
        let share = 0.5 * (1.0 + (std::f32::consts::PI * decayed).cos());
        warm_up * (self.final_share + (1.0 - self.final_share) * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(schedule: Schedule, step: u64) -> f32 {
        schedule.factor(Progress { step, steps: 100 })
    }

    #[test]
    fn constant_unless_asked_otherwise() {
        assert!((0..=100).all(|step| at(Schedule::default(), step) == 1.0));
    }

    #[test]
    fn frozen_then_warm_up_then_constant_then_decay() {
        let schedule = Schedule {
            frozen_steps: 5,
            warmup_steps: 10,
            decay_from: 0.5,
            final_share: 0.1,
        };
        assert_eq!(at(schedule, 4), 0.0);
        assert!((at(schedule, 5) - 0.1).abs() < 1e-6);
        assert_eq!(at(schedule, 30), 1.0);
        assert!((at(schedule, 75) - 0.55).abs() < 1e-3);
        assert!((at(schedule, 100) - 0.1).abs() < 1e-6);
    }
}
