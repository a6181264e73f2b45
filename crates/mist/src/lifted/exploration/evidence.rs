//! Whether the task network knows something yet.

use serde::{Deserialize, Serialize};

use super::ReleaseConfig;

/// Task losses so far, as far as the release depends on them; part of the state of a training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Losses of the first steps.
    plateau: Vec<f32>,
    /// Losses of the newest steps, oldest first.
    recent: Vec<f32>,
    released_at: Option<u64>,
}

impl Evidence {
    /// The step from which the detector learns, if it is known yet.
    pub fn released_at(&self, config: &ReleaseConfig) -> Option<u64> {
        match config.plateau_steps {
            0 => Some(0),
            _ => self.released_at,
        }
    }

    /// Takes note of the mean task loss of a step.
    pub fn observe(&mut self, config: &ReleaseConfig, step: u64, task_loss: f32) {
        if self.released_at(config).is_some() {
            return;
        }
        if self.plateau.len() < config.plateau_steps {
            self.plateau.push(task_loss);
            return;
        }
        if self.recent.len() >= config.recent_steps {
            self.recent.remove(0);
        }
        self.recent.push(task_loss);
        let enough = self.recent.len() == config.recent_steps;
        if enough && mean(&self.recent) < f64::from(config.below_frac) * mean(&self.plateau) {
            *self = Self {
                released_at: Some(step + 1),
                ..Self::default()
            };
        }
    }
}

fn mean(losses: &[f32]) -> f64 {
    let sum: f64 = losses.iter().map(|&loss| f64::from(loss)).sum();
    sum / losses.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(plateau_steps: usize) -> ReleaseConfig {
        ReleaseConfig {
            plateau_steps,
            recent_steps: 3,
            ..ReleaseConfig::default()
        }
    }

    fn release(losses: &[f32]) -> Option<u64> {
        let mut evidence = Evidence::default();
        for (step, &loss) in losses.iter().enumerate() {
            evidence.observe(&config(4), step as u64, loss);
        }
        evidence.released_at(&config(4))
    }

    #[test]
    fn a_mean_well_below_the_plateau_releases_the_detector() {
        let plateau = [1.1, 0.9, 1.0, 1.0];
        let with = |recent: &[f32]| release(&[&plateau, recent].concat());
        assert_eq!(with(&[0.7, 0.7]), None);
        assert_eq!(with(&[0.7, 0.7, 0.7]), Some(7));
        assert_eq!(with(&[1.1, 1.1, 0.7, 0.7]), None);
        assert_eq!(with(&[1.1, 1.1, 0.7, 0.7, 0.7, 5.0, 5.0]), Some(9));
        assert_eq!(Evidence::default().released_at(&config(0)), Some(0));
    }

    #[test]
    fn evidence_survives_as_json_to_the_bit() {
        let mut evidence = Evidence::default();
        for step in 0..40_u64 {
            let loss = 0.1 + (step as f32).sin().abs() / 3.0;
            evidence.observe(&config(30), step, loss);
            let text = serde_json::to_string(&evidence).unwrap();
            assert_eq!(serde_json::from_str::<Evidence>(&text).unwrap(), evidence);
        }
    }
}
