//! The training loop: steps, notes, checkpoints, until done, out of time or told to stop.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use burn::tensor::Device;
use mist::lifted::{Classification, Reconstruction, Step};
use mist::metrics::MetricSet;
use mist::model::{Model, TaskNetwork};
use mist::training::{Progress, Trainee};
use mist_data::{SceneSet, Split};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::batches::{self, Batch};
use crate::cli::DataPlace;
use crate::commands::Say;
use crate::evaluation::{self, Proposals};
use crate::exit::{Diverged, Interrupted, Usage};
use crate::models;
use crate::notes::Notes;
use crate::recipe::{Method, Recipe};
use crate::run::directory::RunDirectory;
use crate::run::event_log::Event;
use crate::run::memory;
use crate::run::signals::Signals;
use crate::run::whole_file;

/// Held-out scenes of a look during training.
const VALIDATION_SCENES: u64 = 256;

/// What a training runs with beside its recipe.
pub struct Conditions<'a> {
    pub device: Device,
    pub budget: Option<Duration>,
    pub place: &'a DataPlace,
    pub say: Say,
}

/// How a training ended when nothing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Done,
    OutOfTime,
}

/// A training under way.
struct Training<'a> {
    recipe: Recipe,
    run: RunDirectory,
    conditions: &'a Conditions<'a>,
    scenes: SceneSet,
    held_out: SceneSet,
    trainee: Trainee,
    notes: Notes,
    signals: Signals,
}

/// Refuses a recipe that cannot be trained here, before anything is written.
pub fn check(recipe: &Recipe, place: &DataPlace) -> Result<()> {
    let scenes = batches::open(recipe.kind()?, recipe.seed, Split::Train, place)?;
    memory::check(recipe, scenes.canvas_px())?;
    if let TaskNetwork::Classifier { classes, .. } = recipe.model.task
        && classes != scenes.classes()
    {
        return Err(Usage(format!(
            "`model.task.classifier.classes` is {classes}, scenes of kind {} have {}",
            recipe.scenes,
            scenes.classes()
        ))
        .into());
    }
    Ok(())
}

/// The networks before the first step.
pub fn starting_model(recipe: &Recipe, device: &Device) -> Result<Model> {
    let config = recipe.model.clone();
    match &recipe.start {
        Some(path) => models::load_as(path, config, device),
        None => Ok(Model::init(config, recipe.seed, device)?),
    }
}

/// Trains a run from its newest checkpoint, or from the start.
pub fn train(run: &RunDirectory, conditions: &Conditions) -> Result<End> {
    let signals = Signals::listen()?;
    let recipe = run.recipe()?;
    check(&recipe, conditions.place)?;
    let open = |split, seed| batches::open(recipe.kind()?, seed, split, conditions.place);
    let scenes = open(Split::Train, recipe.seed)?;
    let held_out = open(Split::Valid, 0)?;
    whole_file::remove_leftovers(&run.checkpoint_directory())?;
    let tracked = conditions.device.clone().autodiff();
    let warn = |warning: String| conditions.say.line(format_args!("warning: {warning}"));
    let saved = run.checkpoints().load(warn)?;
    let model = match saved {
        // The model that it started from may be gone by now, and everything is in the checkpoint.
        Some(_) => Model::init(recipe.model.clone(), recipe.seed, &tracked)?,
        None => starting_model(&recipe, &tracked)?,
    };
    let optimiser = recipe.optimiser;
    let mut trainee = Trainee::new(model, optimiser.detector, optimiser.task)?;
    let start = match saved {
        Some((state, from)) => trainee
            .restore(&state)
            .with_context(|| from.display().to_string())?,
        None => 0,
    };
    let event = if start == 0 {
        Event::Started
    } else {
        Event::Resumed
    };
    run.event_log().write(event, start)?;
    let notes = Notes::open(run, start, recipe.steps, conditions.say)?;
    let training = Training {
        run: run.clone(),
        recipe,
        conditions,
        scenes,
        held_out,
        trainee,
        notes,
        signals,
    };
    training.steps(start)
}

impl Training<'_> {
    fn steps(mut self, start: u64) -> Result<End> {
        let begun = Instant::now();
        let every = self.recipe.every;
        if start > 0 {
            // A kill may have come between the checkpoint and its weights.
            self.save_last_weights()?;
        }
        for done in start..self.recipe.steps {
            let (taken, batch) = self.step(done).inspect_err(|error| {
                if error.is::<Diverged>() {
                    // The error itself matters more than a line about it.
                    let _ = self.run.event_log().write(Event::Diverged, done);
                }
            })?;
            let done = done + 1;
            let last = done == self.recipe.steps;
            self.notes.after_step(done, &taken);
            if done % every.sample == 0 || last {
                self.notes
                    .draw(done, &taken, &batch.scenes, &self.recipe.model)?;
            }
            let validation = if done % every.validation == 0 || last {
                Some(self.validate()?)
            } else {
                None
            };
            if done % every.log == 0 || last || validation.is_some() {
                self.notes.write(done, validation)?;
            }
            let signal = self.signals.seen();
            let out_of_time =
                (self.conditions.budget).is_some_and(|budget| begun.elapsed() >= budget && !last);
            if done % every.checkpoint == 0 || last || signal.is_some() || out_of_time {
                self.save(done)?;
            }
            if let Some(signal) = signal {
                self.run.event_log().write(Event::Interrupted, done)?;
                return Err(Interrupted(signal).into());
            }
            if out_of_time {
                self.run.event_log().write(Event::OutOfTime, done)?;
                return Ok(End::OutOfTime);
            }
        }
        self.notes.finish();
        self.run
            .event_log()
            .write(Event::Finished, self.recipe.steps)?;
        Ok(End::Done)
    }

    fn step(&mut self, done: u64) -> Result<(Step, Batch)> {
        let recipe = &self.recipe;
        let first = done * recipe.batch as u64;
        let channels = recipe.model.image_channels();
        let device = self.conditions.device.clone().autodiff();
        let batch = Batch::draw(&self.scenes, first, recipe.batch, channels, &device);
        let progress = Progress {
            step: done,
            steps: recipe.steps,
        };
        let images = batch.images.clone();
        let taken = match (recipe.method, &recipe.model.task) {
            (Method::Lifted(lifted), TaskNetwork::Classifier { classes, .. }) => {
                let mean_labels = batch.mean_labels(*classes);
                let task = Classification {
                    mean_labels,
                    distance: lifted.mean_distance,
                };
                lifted.step(&mut self.trainee, images, &task, progress)
            }
            (Method::Lifted(lifted), TaskNetwork::Autoencoder { .. }) => {
                let task = Reconstruction {
                    geometry: recipe.model.geometry,
                };
                lifted.step(&mut self.trainee, images, &task, progress)
            }
            (Method::Supervised(supervised), _) => {
                let mut random = ChaCha8Rng::seed_from_u64(recipe.seed);
                random.set_stream(done);
                let shift = || random.next_u32() as f32 / u32::MAX as f32 * 2.0 - 1.0;
                let truths = batch.truths();
                supervised.step(&mut self.trainee, images, &truths, shift, progress)
            }
        };
        let range = format!("scenes {first} to {}", first + recipe.batch as u64 - 1);
        match taken {
            Ok(taken) if taken.task_loss.is_finite() && taken.heatmap_loss.is_finite() => {
                Ok((taken, batch))
            }
            Ok(taken) => Err(Diverged(format!(
                "the loss is not finite at step {} ({range}): task {}, heatmap {}; the last good checkpoint is kept, \
                 lower learning rates may help",
                done + 1,
                taken.task_loss,
                taken.heatmap_loss
            ))
            .into()),
            Err(mist::Error::NonFiniteHeatmap { image }) => Err(Diverged(format!(
                "the heatmap of scene {} is not finite at step {} ({range}); the last good checkpoint is kept, lower \
                 learning rates may help",
                first + image as u64,
                done + 1
            ))
            .into()),
            Err(error) => Err(error.into()),
        }
    }

    /// A look at held-out scenes; the best model so far is kept.
    fn validate(&mut self) -> Result<MetricSet<f64>> {
        let device = &self.conditions.device;
        let model = self.trainee.evaluated(device)?;
        let results = evaluation::detect_scenes(
            &model,
            &self.held_out,
            VALIDATION_SCENES,
            Proposals::Heatmap,
            device,
        )?;
        let instances = self.recipe.model.extractor.instances;
        let found = evaluation::judge(&results, self.held_out.classes(), instances, None).metrics;
        if self.notes.is_best(&found) {
            save_weights(&self.run.weights().join("best.safetensors"), &model)?;
        }
        Ok(found)
    }

    /// The checkpoint first: weights can be made from it again.
    fn save(&self, done: u64) -> Result<()> {
        self.run.checkpoints().save(&self.trainee.to_bytes(done)?)?;
        self.run.event_log().write(Event::Saved, done)?;
        self.save_last_weights()
    }

    fn save_last_weights(&self) -> Result<()> {
        let model = self.trainee.evaluated(&self.conditions.device)?;
        save_weights(&self.run.weights().join("last.safetensors"), &model)
    }
}

fn save_weights(path: &Path, model: &Model) -> Result<()> {
    whole_file::write(path, &model.to_safetensors()?)
}
