//! The training loop: steps, notes, checkpoints, until done, out of time or told to stop.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use burn::tensor::Device;
use mist::lifted::{Classification, Reconstruction, Step};
use mist::metrics::MetricSet;
use mist::model::{Model, TaskNetwork};
use mist::training::{Progress, Trainee};
use mist_data::{SceneSet, Split};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::batches::{self, Batch};
use crate::error::{AtPath, Context, Error, Result};
use crate::evaluation::{self, Proposals};
use crate::logger::Logger;
use crate::models;
use crate::observer::{Observer, TrainingProgress};
use crate::recipe::{Method, Recipe};
use crate::run::directory::RunDirectory;
use crate::run::event_log::Event;
use crate::run::memory;
use crate::run::whole_file;

/// Held-out scenes of a look during training.
const VALIDATION_SCENES: u64 = 256;

/// What a training runs with beside its recipe.
pub struct TrainOptions<'a> {
    /// Where to compute.
    pub device: Device,
    /// Save and stop after this time.
    pub budget: Option<Duration>,
    /// Where MNIST is, instead of the usual places.
    pub data: Option<PathBuf>,
    /// The number of a signal once someone asks the training to save and stop; asked after every step.
    pub stop: &'a dyn Fn() -> Option<i32>,
}

/// How a training ended when nothing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All steps are taken.
    Done,
    /// The time is used up; it can be resumed.
    OutOfTime,
}

/// A training under way.
struct Training<'a> {
    recipe: Recipe,
    run: RunDirectory,
    options: &'a TrainOptions<'a>,
    observer: &'a mut dyn Observer,
    scenes: SceneSet,
    held_out: SceneSet,
    trainee: Trainee,
    logger: Logger,
}

/// Refuses a recipe that cannot be trained here, before anything is written.
///
/// # Errors
/// When a setting is out of range, its data is missing, its settings do not fit the data, or memory is too small.
pub fn check(recipe: &Recipe, data: Option<&Path>) -> Result<()> {
    recipe.check()?;
    let scenes = batches::open(recipe.kind()?, recipe.seed, Split::Train, data)?;
    memory::check(recipe, scenes.canvas_px())?;
    if let TaskNetwork::Classifier { classes, .. } = recipe.model.task
        && classes != scenes.classes()
    {
        return Err(Error::Usage(format!(
            "`model.task.classifier.classes` is {classes}, scenes of kind {} have {}",
            recipe.scenes,
            scenes.classes()
        )));
    }
    Ok(())
}

/// A new run of a recipe that can be trained here: `out` if given, else the next number under `runs/<recipe>/`.
///
/// # Errors
/// As [`check`]; when the model it starts from cannot be read; when `out` holds a run already.
pub fn create_run(
    recipe: &Recipe,
    out: Option<&Path>,
    options: &TrainOptions,
) -> Result<RunDirectory> {
    check(recipe, options.data.as_deref())?;
    starting_model(recipe, &options.device)?;
    RunDirectory::create(recipe, out)
}

/// The newest run of a recipe.
///
/// # Errors
/// When there is none.
pub fn newest_run(experiment: &str) -> Result<RunDirectory> {
    RunDirectory::newest(experiment)?
        .ok_or_else(|| Error::Usage(format!("there is no run of {experiment} to go on with")))
}

/// The networks before the first step.
fn starting_model(recipe: &Recipe, device: &Device) -> Result<Model> {
    let config = recipe.model.clone();
    match &recipe.start {
        Some(path) => models::load_as(path, config, device),
        None => Ok(Model::init(config, recipe.seed, device)?),
    }
}

/// Trains a run from its newest checkpoint, or from the start.
///
/// # Errors
/// [`Error::Diverged`], [`Error::DamagedCheckpoint`] and [`Error::Interrupted`] as they say; otherwise when a file cannot
/// be read or written.
pub fn train(
    run: &RunDirectory,
    options: &TrainOptions,
    observer: &mut dyn Observer,
) -> Result<End> {
    let _lock = run.lock(observer)?;
    let recipe = run.recipe()?;
    let data = options.data.as_deref();
    check(&recipe, data)?;
    let open = |split, seed| batches::open(recipe.kind()?, seed, split, data);
    let scenes = open(Split::Train, recipe.seed)?;
    let held_out = open(Split::Valid, 0)?;
    for directory in [
        run.root().to_owned(),
        run.checkpoint_directory(),
        run.weights(),
    ] {
        whole_file::remove_leftovers(&directory).at("clean up", &directory)?;
    }
    let tracked = options.device.clone().autodiff();
    let saved = run
        .checkpoints()
        .load(|warning| observer.warning(&warning))?;
    let model = match saved {
        // The model that it started from may be gone by now, and everything is in the checkpoint.
        Some(_) => Model::init(recipe.model.clone(), recipe.seed, &tracked)?,
        None => starting_model(&recipe, &tracked)?,
    };
    let optimiser = recipe.optimiser;
    let mut trainee = Trainee::new(model, optimiser.detector, optimiser.task)?;
    let start = match saved {
        Some((state, from)) => trainee.restore(&state).context(from.display())?,
        None => 0,
    };
    let event = if start == 0 {
        Event::Started
    } else {
        Event::Resumed
    };
    run.event_log().write(event, start)?;
    observer.message(&match start {
        0 => "no checkpoint yet: training starts from step 0".to_owned(),
        _ => format!("training goes on after step {start}"),
    });
    let logger = Logger::open(run, start, observer)?;
    observer.training_started(start, recipe.steps);
    let training = Training {
        run: run.clone(),
        recipe,
        options,
        observer,
        scenes,
        held_out,
        trainee,
        logger,
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
            let (taken, batch) = self.step(done)?;
            let done = done + 1;
            let last = done == self.recipe.steps;
            self.count(done, &taken);
            if done % every.sample == 0 || last {
                self.logger
                    .draw(done, &taken, &batch.scenes, &self.recipe.model)?;
            }
            let validation = if done % every.validation == 0 || last {
                Some(self.validate(done)?)
            } else {
                None
            };
            if done % every.log == 0 || last || validation.is_some() {
                self.logger.write(done, validation)?;
            }
            if let Some(metrics) = &validation {
                self.observer.validated(done, metrics);
            }
            let signal = (self.options.stop)();
            let out_of_time =
                (self.options.budget).is_some_and(|budget| begun.elapsed() >= budget && !last);
            if done % every.checkpoint == 0 || last || signal.is_some() || out_of_time {
                self.save(done)?;
            }
            if let Some(signal) = signal {
                self.run.event_log().write(Event::Interrupted, done)?;
                return Err(Error::Interrupted(signal));
            }
            if out_of_time {
                self.run.event_log().write(Event::OutOfTime, done)?;
                return Ok(End::OutOfTime);
            }
        }
        self.observer.training_ended();
        self.run
            .event_log()
            .write(Event::Finished, self.recipe.steps)?;
        Ok(End::Done)
    }

    fn count(&mut self, done: u64, taken: &Step) {
        self.logger.after_step(taken);
        self.observer.progress(&TrainingProgress {
            step: done,
            steps: self.recipe.steps,
            task_loss: taken.task_loss,
            heatmap_loss: taken.heatmap_loss,
        });
    }

    fn step(&mut self, done: u64) -> Result<(Step, Batch)> {
        let recipe = &self.recipe;
        let first = done * recipe.batch as u64;
        let channels = recipe.model.image_channels();
        let device = self.options.device.clone().autodiff();
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
            Ok(taken) => {
                let (task, heatmap) = (taken.task_loss, taken.heatmap_loss);
                let what =
                    format!("the loss is not finite ({range}): task {task}, heatmap {heatmap}");
                Err(self.diverged(done + 1, &what))
            }
            Err(error) => Err(self.failed(done + 1, &range, error.into())),
        }
    }

    /// A look at held-out scenes; the best model so far is kept.
    fn validate(&mut self, done: u64) -> Result<MetricSet<f64>> {
        let device = &self.options.device;
        let model = self.trainee.evaluated(device)?;
        let results = evaluation::detect_scenes(
            &model,
            &self.held_out,
            VALIDATION_SCENES,
            Proposals::Heatmap,
            device,
        )
        .map_err(|error| self.failed(done, "held-out scenes", error))?;
        let instances = self.recipe.model.extractor.instances;
        let found = evaluation::judge(&results, self.held_out.classes(), instances, None).metrics;
        if self.logger.is_best(&found) {
            save_weights(&self.run.weights().join("best.safetensors"), &model)?;
        }
        Ok(found)
    }

    /// A failure on some images: divergence where values are not finite.
    fn failed(&self, done: u64, images: &str, error: Error) -> Error {
        match error {
            Error::Model(
                mist::Error::NonFiniteHeatmap { .. }
                | mist::Error::NonFiniteOutput { .. }
                | mist::Error::NonFiniteTensor { .. },
            )
            | Error::Pixels(_) => self.diverged(done, &format!("{error} ({images})")),
            error => error,
        }
    }

    fn diverged(&self, done: u64, what: &str) -> Error {
        // The error itself matters more than a line about it.
        let _ = self.run.event_log().write(Event::Diverged, done);
        let kept = match self.run.checkpoints().exist() {
            true => "the last good checkpoint is kept",
            false => "there is no checkpoint yet",
        };
        Error::Diverged(format!(
            "training diverged at step {done}: {what}; {kept}, lower learning rates may help"
        ))
    }

    /// The checkpoint first: weights can be made from it again.
    fn save(&self, done: u64) -> Result<()> {
        let state = self.trainee.to_bytes(done);
        let state = state.map_err(|error| self.failed(done, "all weights", error.into()))?;
        self.run.checkpoints().save(&state)?;
        self.run.event_log().write(Event::Saved, done)?;
        self.save_last_weights()
    }

    fn save_last_weights(&self) -> Result<()> {
        let model = self.trainee.evaluated(&self.options.device)?;
        save_weights(&self.run.weights().join("last.safetensors"), &model)
    }
}

fn save_weights(path: &Path, model: &Model) -> Result<()> {
    whole_file::write(path, &models::weights_file(model)?)
}
