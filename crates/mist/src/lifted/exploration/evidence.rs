//! Whether the task network knows something yet.

use serde::{Deserialize, Serialize};

use super::{ExplorationConfig, ReleaseConfig};

/// Odd and far from small numbers, so that a restart does not repeat the next seed's start.
const RESTART_STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Task losses so far, as far as the release depends on them; part of the state of a training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Losses of the first steps.
    plateau: Vec<f32>,
    /// Losses of the newest steps, oldest first.
    recent: Vec<f32>,
    released_at: Option<u64>,
    /// Whether the loss fell on after the release.
    #[serde(default)]
    took_off: bool,
    /// How often the networks were replaced.
    #[serde(default)]
    restarts: u64,
    /// The step at which they were.
    #[serde(default)]
    restarted_at: u64,
    /// Whether the weights are not random, so that they are not replaced.
    #[serde(default)]
    keeps_weights: bool,
}

/// What follows from the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Continue,
    /// Replace the networks by others with random weights.
    Restart,
}

impl Evidence {
    /// Nothing yet, of networks that are given or random.
    pub fn new(config: &ExplorationConfig, weights_are_given: bool) -> Self {
        let may_restart = config.release.patience_steps > 0 || config.take_off.patience_steps > 0;
        Self {
            keeps_weights: weights_are_given && may_restart,
            ..Self::default()
        }
    }

    /// The seed of the networks' random weights: another one after each restart.
    pub fn seed_of_weights(&self, seed: u64) -> u64 {
        seed.wrapping_add(self.restarts.wrapping_mul(RESTART_STRIDE))
    }

    /// The step from which the detector learns, if it is known yet.
    pub fn released_at(&self, config: &ReleaseConfig) -> Option<u64> {
        match config.plateau_steps {
            0 => Some(0),
            _ => self.released_at,
        }
    }

    /// Takes note of the mean task loss of a step.
    pub fn observe(&mut self, config: &ExplorationConfig, step: u64, task_loss: f32) -> Verdict {
        let (release, take_off) = (&config.release, &config.take_off);
        let released_at = self.released_at(release);
        let may_take_off = take_off.patience_steps > 0 && release.plateau_steps > 0;
        if released_at.is_some() && (!may_take_off || self.took_off) {
            return Verdict::Continue;
        }
        if self.plateau.len() < release.plateau_steps {
            self.plateau.push(task_loss);
            return Verdict::Continue;
        }
        if self.recent.len() >= release.recent_steps {
            self.recent.remove(0);
        }
        self.recent.push(task_loss);
        let (since, below_frac, patience) = match released_at {
            None => (
                self.restarted_at,
                release.below_frac,
                release.patience_steps,
            ),
            Some(released) => (released, take_off.below_frac, take_off.patience_steps),
        };
        let enough = self.recent.len() == release.recent_steps;
        if enough && mean(&self.recent) < f64::from(below_frac) * mean(&self.plateau) {
            self.fell(step, may_take_off);
            return Verdict::Continue;
        }
        if patience == 0 || self.keeps_weights || step + 1 < since + patience {
            return Verdict::Continue;
        }
        *self = Self {
            restarts: self.restarts + 1,
            restarted_at: step + 1,
            ..Self::default()
        };
        Verdict::Restart
    }

    /// The loss has fallen as far as it had to: the release, or the take-off after it. What is not needed any more is
    /// forgotten.
    fn fell(&mut self, step: u64, may_take_off: bool) {
        self.took_off = self.released_at.is_some();
        self.released_at = self.released_at.or(Some(step + 1));
        self.recent = Vec::new();
        if self.took_off || !may_take_off {
            self.plateau = Vec::new();
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

    fn config(plateau_steps: usize) -> ExplorationConfig {
        ExplorationConfig {
            release: ReleaseConfig {
                plateau_steps,
                recent_steps: 3,
                ..ReleaseConfig::default()
            },
            ..ExplorationConfig::default()
        }
    }

    fn release(losses: &[f32]) -> Option<u64> {
        let mut evidence = Evidence::default();
        for (step, &loss) in losses.iter().enumerate() {
            evidence.observe(&config(4), step as u64, loss);
        }
        evidence.released_at(&config(4).release)
    }

    #[test]
    fn a_mean_well_below_the_plateau_releases_the_detector() {
        let plateau = [1.1, 0.9, 1.0, 1.0];
        let with = |recent: &[f32]| release(&[&plateau, recent].concat());
        assert_eq!(with(&[0.7, 0.7]), None);
        assert_eq!(with(&[0.7, 0.7, 0.7]), Some(7));
        assert_eq!(with(&[1.1, 1.1, 0.7, 0.7]), None);
        assert_eq!(with(&[1.1, 1.1, 0.7, 0.7, 0.7, 5.0, 5.0]), Some(9));
        assert_eq!(Evidence::default().released_at(&config(0).release), Some(0));
    }

    #[test]
    fn networks_that_learn_nothing_are_replaced_unless_they_were_given() {
        let mut config = config(4);
        config.release.patience_steps = 10;
        let restarts = |mut evidence: Evidence, steps: u64| -> Vec<u64> {
            let is_restart = |step: &u64| evidence.observe(&config, *step, 1.0) == Verdict::Restart;
            (0..steps).filter(is_restart).collect()
        };
        assert_eq!(restarts(Evidence::new(&config, false), 25), [9, 19]);
        assert!(restarts(Evidence::new(&config, true), 25).is_empty());
        let mut evidence = Evidence::default();
        assert_eq!(evidence.seed_of_weights(7), 7);
        for step in 0..10 {
            evidence.observe(&config, step, 1.0);
        }
        assert_ne!(evidence.seed_of_weights(7), 7);
        for step in 10..20 {
            evidence.observe(&config, step, if step < 14 { 1.0 } else { 0.1 });
        }
        assert_eq!(evidence.released_at(&config.release), Some(17));
    }

    #[test]
    fn a_loss_that_stays_after_the_release_replaces_the_networks_too() {
        let mut config = config(4);
        config.take_off.patience_steps = 6;
        // Released after step 6, at 0.7 of the plateau.
        let outcome = |after_release: f32| {
            let mut evidence = Evidence::default();
            let losses = [1.0; 4].into_iter().chain([0.7; 3]);
            let losses = losses.chain([after_release; 20]).enumerate();
            let is_restart = |(step, loss): (usize, f32)| {
                (evidence.observe(&config, step as u64, loss) == Verdict::Restart).then_some(step)
            };
            let restart = losses.clone().find_map(is_restart);
            (restart, evidence)
        };
        let (restart, evidence) = outcome(0.6);
        assert_eq!(restart, Some(12));
        assert_eq!(evidence.released_at(&config.release), None);
        let (restart, evidence) = outcome(0.4);
        assert_eq!(restart, None);
        assert_eq!(evidence.released_at(&config.release), Some(7));
        assert!(evidence.took_off && evidence.plateau.is_empty());
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
