//! `mist bench --time-to-accuracy`: seconds from the start of a process to the first validation that passes a target.

mod ours;
mod pytorch;

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::machine::{self, Machine};
use crate::observer::Observer;

/// Steps between two validations.
const VALIDATION_STEPS: u64 = 100;

/// Who trains, by which recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Our recipe on our engine.
    Open,
    /// The released recipe on our engine.
    Closed,
    /// The released recipe on PyTorch.
    Pytorch,
}

impl Side {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Open, Self::Closed, Self::Pytorch];

    /// The name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Pytorch => "pytorch",
        }
    }

    /// What it is, in a few words.
    pub fn description(self) -> &'static str {
        match self {
            Self::Open => "mnist-hard-classify",
            Self::Closed => "mnist-hard-official, the released recipe",
            Self::Pytorch => "The released recipe on PyTorch",
        }
    }
}

/// What to time.
#[derive(Clone, Debug)]
pub struct TimeToAccuracyOptions {
    /// Who takes part; they take turns.
    pub sides: Vec<Side>,
    /// Seeds 1 to this.
    pub seeds: u64,
    /// Shares of digits found and read in held-out scenes, ascending.
    pub targets: Vec<f64>,
    /// An attempt that takes longer has failed.
    pub limit: Duration,
    /// This program.
    pub program: PathBuf,
    /// The Python that has PyTorch.
    pub python: PathBuf,
    /// How PyTorch runs, as `mist bench --against-pytorch` names its best setting.
    pub setting: String,
    /// Where data is, instead of the usual places.
    pub data: Option<PathBuf>,
}

/// When an attempt passed a target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reached {
    /// Since the process was started.
    pub secs: f64,
    /// Training images until then.
    pub images: u64,
}

/// One training.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// Who trained.
    pub side: Side,
    /// Its seed.
    pub seed: u64,
    /// By target; none where the time was used up before.
    pub reached: Vec<Option<Reached>>,
}

/// What came out.
#[derive(Debug, Serialize, Deserialize)]
pub struct TimesToAccuracy {
    /// Where.
    pub machine: Machine,
    /// The code.
    pub commit: Option<String>,
    /// As in the options.
    pub targets: Vec<f64>,
    /// As in the options, in seconds.
    pub limit_secs: f64,
    /// As in the options.
    pub pytorch_setting: String,
    /// In the order in which they were made.
    pub attempts: Vec<Attempt>,
}

/// Lets every side train until it has passed all targets, seed by seed.
///
/// # Errors
/// When a side cannot be run at all.
pub fn time_to_accuracy(
    options: &TimeToAccuracyOptions,
    observer: &mut dyn Observer,
) -> Result<TimesToAccuracy> {
    let mut attempts = Vec::new();
    for seed in 1..=options.seeds {
        for &side in &options.sides {
            let reached = match side {
                Side::Open => ours::train("mnist-hard-classify", seed, options)?,
                Side::Closed => ours::train("mnist-hard-official", seed, options)?,
                Side::Pytorch => pytorch::train(seed, options)?,
            };
            observer.message(&line(side, seed, &options.targets, &reached));
            attempts.push(Attempt {
                side,
                seed,
                reached,
            });
        }
    }
    Ok(TimesToAccuracy {
        machine: Machine::here(),
        commit: machine::commit(),
        targets: options.targets.clone(),
        limit_secs: options.limit.as_secs_f64(),
        pytorch_setting: options.setting.clone(),
        attempts,
    })
}

/// Takes note of a validation: every target that it is the first to pass.
fn note(reached: &mut [Option<Reached>], targets: &[f64], both: f64, now: Reached) {
    for (reached, target) in reached.iter_mut().zip(targets) {
        if both >= *target {
            reached.get_or_insert(now);
        }
    }
}

fn line(side: Side, seed: u64, targets: &[f64], reached: &[Option<Reached>]) -> String {
    let targets = targets.iter().zip(reached).map(|(target, reached)| {
        let secs = reached.map_or("not reached".to_owned(), |r| format!("{:.0} s", r.secs));
        format!("{:.1} %: {secs}", target * 100.0)
    });
    let targets: Vec<String> = targets.collect();
    format!("{}, seed {seed}: {}", side.name(), targets.join(", "))
}

impl TimesToAccuracy {
    /// Medians over seeds, a line per side and target; a failure counts as infinity.
    pub fn to_lines(&self) -> String {
        let mut text = String::from("side\ttarget\tmedian s\tmedian images\tfailed\n");
        for side in Side::ALL {
            let attempts = self.attempts.iter().filter(|attempt| attempt.side == side);
            let attempts: Vec<&Attempt> = attempts.collect();
            if attempts.is_empty() {
                continue;
            }
            for (index, target) in self.targets.iter().enumerate() {
                let of_target = attempts.iter().map(|attempt| attempt.reached[index]);
                let failed = of_target.clone().filter(Option::is_none).count();
                let secs = median(of_target.clone().map(|r| r.map(|r| r.secs)));
                let images = median(of_target.map(|r| r.map(|r| r.images as f64)));
                let shown =
                    |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.0}"));
                text += &format!(
                    "{}\t{:.1} %\t{}\t{}\t{failed} of {}\n",
                    side.name(),
                    target * 100.0,
                    shown(secs),
                    shown(images),
                    attempts.len()
                );
            }
        }
        text
    }
}

/// The median, where `None` is larger than any number; of an even count, the upper one of the middle.
fn median(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let mut values: Vec<f64> = values.map(|v| v.unwrap_or(f64::INFINITY)).collect();
    values.sort_by(f64::total_cmp);
    values
        .get(values.len() / 2)
        .copied()
        .filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_count_as_infinity() {
        assert_eq!(median([Some(3.0), None, Some(1.0)].into_iter()), Some(3.0));
        assert_eq!(median([None, None, Some(1.0)].into_iter()), None);
        assert_eq!(median([].into_iter()), None);
    }

    #[test]
    fn the_first_validation_that_passes_counts() {
        let targets = [0.5, 0.9];
        let mut reached = vec![None; 2];
        let at = |secs| Reached { secs, images: 16 };
        for (secs, both) in [(1.0, 0.2), (2.0, 0.6), (3.0, 0.4), (4.0, 0.95), (5.0, 0.99)] {
            note(&mut reached, &targets, both, at(secs));
        }
        assert_eq!(reached, [Some(at(2.0)), Some(at(4.0))]);
        let line = line(Side::Open, 3, &targets, &reached);
        assert_eq!(line, "open, seed 3: 50.0 %: 2 s, 90.0 %: 4 s");
    }
}
