//! The loop: steps, logs, checkpoints, until done, out of time or told to stop.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use mist::finder::Finder;
use mist::measurements::Measurements;
use mist::ranks::Ranks;
use mist::training::{Learner, Progress, Step};
use mist_data::{Dataset, Item};

use super::features::TrainingFeatures;
use super::{End, TrainOptions};
use crate::batches;
use crate::error::{Error, Fault, Result};
use crate::evaluation::predict_with;
use crate::logger::{Logger, SHOWN};
use crate::models;
use crate::observer::{Observer, TrainingProgress};
use crate::recipe::Recipe;
use crate::run::directory::RunDirectory;
use crate::run::event_log::Event;
use crate::run::whole_file;

/// Held-out images of an evaluation during training.
pub const VALIDATION_IMAGES: u64 = 256;

/// A training under way.
pub(super) struct Training<'a> {
    pub recipe: Recipe,
    pub options: &'a TrainOptions<'a>,
    pub observer: &'a mut dyn Observer,
    pub dataset: Arc<dyn Dataset>,
    pub held_out: Arc<dyn Dataset>,
    /// For recipes with a backbone.
    pub features: Option<TrainingFeatures>,
    pub learner: Box<dyn Learner>,
    pub ranks: Ranks,
    /// Those of each batch that are this rank's.
    pub images: Range<usize>,
    /// What rank 0 keeps of it; the others keep nothing.
    pub kept: Option<Kept>,
}

/// Where a training leaves what it learns.
pub(super) struct Kept {
    pub run: RunDirectory,
    pub logger: Logger,
}

impl Training<'_> {
    /// Takes the steps after the first `start`.
    pub fn steps(mut self, start: u64) -> Result<End> {
        if start > 0 {
            // A kill may have come between the checkpoint and its weights.
            self.save_last_weights()?;
        }
        let mut done = start;
        let ended = self.run_from(&mut done);
        self.observer.training_ended();
        let diverged = |error: &Error| error.fault() == Fault::Diverged;
        if ended.as_ref().is_err_and(diverged) {
            // The error itself matters more than a line about it.
            let _ = self.log(Event::Diverged, done);
        }
        ended
    }

    fn run_from(&mut self, done: &mut u64) -> Result<End> {
        let begun = Instant::now();
        let every = self.recipe.every;
        if *done == 0 && every.snapshot > 0 {
            self.keep_snapshot(0)?;
        }
        while *done < self.recipe.steps {
            let step = self.step(*done)?;
            *done += 1;
            let done = *done;
            let last = done == self.recipe.steps;
            self.tell(done, &step, last)?;
            if every.snapshot > 0 && done.is_multiple_of(every.snapshot) {
                self.keep_snapshot(done)?;
            }
            let validates = done.is_multiple_of(every.validation) || last;
            let validation = match validates && self.kept.is_some() {
                true => Some(self.validate(done)?),
                false => None,
            };
            if let Some(metrics) = &validation {
                self.observer.validated(done, metrics);
            }
            if (done.is_multiple_of(every.log) || last || validation.is_some())
                && let Some(kept) = &mut self.kept
            {
                kept.logger.write(done, validation)?;
            }
            let budget = self.options.budget;
            let out_of_time = budget.is_some_and(|budget| begun.elapsed() >= budget && !last);
            let (signal, out_of_time) = self.agree((self.options.stop)(), out_of_time)?;
            let due = done.is_multiple_of(every.checkpoint);
            if due || last || signal.is_some() || out_of_time {
                self.save(done)?;
                // If it could not be saved, the others hear it here.
                self.ranks.gather(Vec::new())?;
            }
            if let Some(signal) = signal {
                self.log(Event::Interrupted, done)?;
                return Err(Error::Interrupted(signal));
            }
            if out_of_time {
                self.log(Event::OutOfTime, done)?;
                return Ok(End::OutOfTime);
            }
        }
        self.log(Event::Finished, self.recipe.steps)?;
        Ok(End::Done)
    }

    /// Whether any rank was told to stop, and whether rank 0 is out of time: what all of them do.
    fn agree(&self, signal: Option<i32>, out_of_time: bool) -> Result<(Option<i32>, bool)> {
        let own = signal
            .and_then(|signal| u8::try_from(signal).ok())
            .unwrap_or(0);
        let all = self.ranks.gather(vec![own, u8::from(out_of_time)])?;
        let signals = all.iter().filter_map(|one| one.first().copied());
        let signal = signals.filter(|signal| *signal > 0).max().map(i32::from);
        Ok((signal, all[0].get(1) == Some(&1)))
    }

    /// Tells people what a step was like.
    fn tell(&mut self, done: u64, step: &Step, last: bool) -> Result<()> {
        self.observer.progress(&TrainingProgress {
            step: done,
            steps: self.recipe.steps,
            measurements: &step.measurements,
        });
        let draws = done.is_multiple_of(self.recipe.every.sample) || last;
        let items = match draws && self.kept.is_some() {
            true => self.items(done - 1)?,
            false => Vec::new(),
        };
        if let Some(kept) = &mut self.kept {
            kept.logger.after_step(&step.measurements);
            if draws {
                kept.logger.draw(done, &step.panels, &items)?;
            }
        }
        Ok(())
    }

    fn log(&self, event: Event, step: u64) -> Result<()> {
        match &self.kept {
            Some(kept) => kept.run.event_log().write(event, step),
            None => Ok(()),
        }
    }

    /// What the step after so many others saw.
    fn items(&self, done: u64) -> Result<Vec<Item>> {
        let first = done * self.recipe.batch as u64;
        let channels = self.recipe.model.image_channels();
        let count = self.images.len().min(SHOWN);
        let dataset = self.dataset.as_ref();
        let (items, _) = batches::load(dataset, first, count, channels, &self.options.device)?;
        Ok(items)
    }

    fn step(&mut self, done: u64) -> Result<Step> {
        let recipe = &self.recipe;
        let (first, count) = (done * recipe.batch as u64, self.images.len());
        let first = first + self.images.start as u64;
        let channels = recipe.model.image_channels();
        let device = self.options.device.clone().autodiff();
        let dataset = self.dataset.as_ref();
        let batch = match &self.features {
            Some(features) => {
                batches::load_features(dataset, &features.train, first, count, &device)?
            }
            None => batches::load(dataset, first, count, channels, &device)?.1,
        };
        let progress = Progress {
            step: done,
            steps: recipe.steps,
        };
        let images = format!("images {first} to {}", first + count as u64 - 1);
        let mut step = match self.learner.step(&batch, progress) {
            Err(error) if is_divergence(&error) => {
                return Err(self.diverged(done, &format!("{error} ({images})")));
            }
            step => step?,
        };
        let traffic = self.ranks.take_traffic();
        if self.ranks.size() > 1 {
            let millis = traffic.time.as_secs_f64() * 1000.0;
            step.measurements.insert("comm_bytes", traffic.bytes as f64);
            step.measurements.insert("comm_ms", millis);
        }
        match step.measurements.non_finite() {
            Some((name, value)) => {
                let what = format!("the loss is not finite: {name} is {value} ({images})");
                Err(self.diverged(done, &what))
            }
            None => Ok(step),
        }
    }

    fn diverged(&self, done: u64, what: &str) -> Error {
        let kept = match &self.kept {
            Some(kept) if !kept.run.checkpoints().exist() => "there is no checkpoint yet",
            _ => "the last good checkpoint is kept",
        };
        Error::Diverged(format!(
            "training diverged at step {}: {what}; {kept}, lower learning rates may help",
            done + 1
        ))
    }

    /// Evaluates on held-out images; the best model so far is kept.
    fn validate(&mut self, done: u64) -> Result<Measurements> {
        let device = &self.options.device;
        let finder = self.learner.finder(device)?;
        let held_out = self.held_out.as_ref();
        let features = self.features.as_ref().map(|features| &features.held_out);
        let finder_ref = finder.as_ref();
        let count = VALIDATION_IMAGES;
        let predictions = match predict_with(finder_ref, held_out, features, count, device) {
            Err(error @ Error::Pixels(_)) => {
                return Err(self.diverged(done - 1, &format!("{error} (held-out images)")));
            }
            Err(Error::Model(error)) if is_divergence(&error) => {
                return Err(self.diverged(done - 1, &format!("{error} (held-out images)")));
            }
            predictions => predictions?,
        };
        let metrics = predictions.evaluate(None).metrics;
        if let Some(kept) = &mut self.kept
            && kept.logger.is_best(&metrics)
        {
            let path = kept.run.weights().join("best.safetensors");
            save_weights(&path, finder.as_ref())?;
        }
        Ok(metrics)
    }

    /// The checkpoint first: weights can be made from it again.
    fn save(&self, done: u64) -> Result<()> {
        let Some(Kept { run, .. }) = &self.kept else {
            return Ok(());
        };
        let state = self.learner.state()?;
        if let Some(name) = state.non_finite() {
            let what = format!("`{name}` holds values that are not finite");
            return Err(self.diverged(done - 1, &what));
        }
        run.checkpoints().save(&state.to_bytes(done)?)?;
        run.event_log().write(Event::Saved, done)?;
        self.save_last_weights()
    }

    fn keep_snapshot(&self, done: u64) -> Result<()> {
        let Some(Kept { run, .. }) = &self.kept else {
            return Ok(());
        };
        let finder = self.learner.finder(&self.options.device)?;
        save_weights(&run.snapshot(done), finder.as_ref())
    }

    fn save_last_weights(&self) -> Result<()> {
        let Some(Kept { run, .. }) = &self.kept else {
            return Ok(());
        };
        let finder = self.learner.finder(&self.options.device)?;
        let path = run.weights().join("last.safetensors");
        save_weights(&path, finder.as_ref())
    }
}

fn is_divergence(error: &mist::Error) -> bool {
    use mist::Error::{NonFiniteHeatmap, NonFiniteOutput};
    matches!(error, NonFiniteHeatmap { .. } | NonFiniteOutput { .. })
}

fn save_weights(path: &Path, finder: &dyn Finder) -> Result<()> {
    whole_file::write(path, &models::weights_file(finder)?)
}
