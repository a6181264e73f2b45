//! Our side: a process of this program, watched from outside.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Reached, TimeToAccuracyOptions, VALIDATION_STEPS, note};
use crate::error::{AtPath, Error, Result};
use crate::recipe::Recipe;
use crate::run::metrics_log;

/// How often the process is looked at.
const GLANCE: Duration = Duration::from_millis(100);

/// Trains a recipe until all targets are passed or the time is used up.
pub fn train(
    recipe: &str,
    seed: u64,
    options: &TimeToAccuracyOptions,
) -> Result<Vec<Option<Reached>>> {
    let batch = Recipe::load(recipe, &[])?.batch as u64;
    let place = tempfile::tempdir().map_err(|error| Error::Failed(error.to_string()))?;
    let run = place.path().join("run");
    let mut command = Command::new(&options.program);
    command.args(["train", recipe, "--quiet", "--seed", &seed.to_string()]);
    command.args(["--set", &format!("every.validation={VALIDATION_STEPS}")]);
    command.arg("--out").arg(&run);
    if let Some(data) = &options.data {
        command.arg("--data").arg(data);
    }
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    let child = command.spawn().at("start", &options.program)?;
    let mut training = Training(child);
    let mut reached = vec![None; options.targets.len()];
    let mut seen = 0;
    loop {
        let ended = training.has_ended()?;
        let secs = begun.elapsed().as_secs_f64();
        let curve = metrics_log::read(&run.join("metrics.jsonl")).unwrap_or_default();
        for line in curve.lines.iter().filter(|line| line.step > seen) {
            let both = line.validation.as_ref().and_then(|v| v.get("both"));
            let images = line.step * batch;
            note(
                &mut reached,
                &options.targets,
                both.unwrap_or(0.0),
                Reached { secs, images },
            );
        }
        seen = curve.lines.last().map_or(seen, |line| line.step);
        let late = begun.elapsed() >= options.limit;
        if ended || late || reached.iter().all(Option::is_some) {
            return Ok(reached);
        }
        std::thread::sleep(GLANCE);
    }
}

/// A training that ends with whoever watches it.
struct Training(Child);

impl Training {
    fn has_ended(&mut self) -> Result<bool> {
        match self.0.try_wait() {
            Ok(None) => Ok(false),
            Ok(Some(status)) if status.success() => Ok(true),
            Ok(Some(status)) => Err(Error::Failed(format!("a training ended with {status}"))),
            Err(error) => Err(Error::Failed(format!("cannot watch a training: {error}"))),
        }
    }
}

impl Drop for Training {
    fn drop(&mut self) {
        // One that has ended already needs no ending.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
