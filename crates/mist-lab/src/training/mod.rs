//! Trainings: checked before they start, run in a directory of their own, resumed where they stopped.

mod features;
mod steps;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use burn::tensor::Device;
use mist::backbone::FeatureExtractor;
use mist::training::{Learner, LearnerState, Setup};
use mist_data::{Catalog, Dataset, FOLDER, FolderDataset, ShuffledCounts, Split};

use crate::error::{AtPath, Context, Error, Result};
use crate::logger::Logger;
use crate::models;
use crate::observer::Observer;
use crate::recipe::{Counts, Recipe};
use crate::run::directory::RunDirectory;
use crate::run::event_log::Event;
use crate::run::memory;
use crate::run::whole_file;

pub(crate) use steps::VALIDATION_IMAGES;

use features::TrainingFeatures;
use steps::Training;

/// What a training runs with beside its recipe.
pub struct TrainOptions<'a> {
    /// Where to compute.
    pub device: Device,
    /// Save and stop after this time.
    pub budget: Option<Duration>,
    /// Where data is, instead of the usual places.
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

/// Refuses a recipe that cannot be trained here, before anything is written.
///
/// # Errors
/// When a setting is out of range, its data is missing, its settings do not fit the data, or memory is too small.
pub fn check(recipe: &Recipe, catalog: &Catalog) -> Result<()> {
    recipe.check()?;
    let dataset = open(recipe, Split::Train, catalog)?;
    if let Some(size) = dataset.image_size() {
        memory::check(recipe, size)?;
    }
    let classes = dataset.class_names().len();
    match recipe.model.task.classes() {
        Some(wanted) if wanted != classes => Err(Error::Usage(format!(
            "`model.task.classifier.classes` is {wanted}, the data set `{}` has {classes}",
            recipe.dataset
        ))),
        _ => Ok(()),
    }
}

/// The part of a recipe's data set that it learns from, or the held-out part, which is the same for every seed.
pub(crate) fn open(recipe: &Recipe, split: Split, catalog: &Catalog) -> Result<Arc<dyn Dataset>> {
    let seed = match split {
        Split::Train => recipe.seed,
        Split::Valid | Split::Test => 0,
    };
    let dataset = match recipe.dataset.as_str() {
        FOLDER => Arc::new(FolderDataset::open(recipe.folder()?, seed, split)?),
        name => catalog.open(name, seed, split).context("`dataset`")?,
    };
    Ok(match (recipe.counts, split) {
        (Counts::Shuffled, Split::Train) => Arc::new(ShuffledCounts::new(dataset)),
        (Counts::Shuffled, Split::Valid | Split::Test) | (Counts::Own, _) => dataset,
    })
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
    check(recipe, &Catalog::new(options.data.as_deref()))?;
    let extractor = features::extractor(recipe, options.data.as_deref())?;
    let device = options.device.clone().autodiff();
    new_learner(recipe, &device, Weights::Starting, extractor.as_ref())?;
    RunDirectory::create(recipe, out)
}

/// The newest run of a recipe.
///
/// # Errors
/// When there is none.
pub fn newest_run(experiment: &str) -> Result<RunDirectory> {
    RunDirectory::newest(experiment)?
        .ok_or_else(|| Error::Usage(format!("there is no run of {experiment} to resume")))
}

/// Which weights a learner begins with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weights {
    /// Those that the recipe says.
    Starting,
    /// Any: a checkpoint replaces them, and the model that the recipe starts from may be gone by now.
    Any,
}

fn new_learner(
    recipe: &Recipe,
    device: &Device,
    weights: Weights,
    features: Option<&FeatureExtractor>,
) -> Result<Box<dyn Learner>> {
    let start = match &recipe.start {
        Some(path) if weights == Weights::Starting => Some(models::starting_weights(path)?),
        _ => None,
    };
    let setup = Setup {
        model: &recipe.model,
        optimisers: &recipe.optimiser,
        seed: recipe.seed,
        weights: start.as_deref(),
        features,
        device,
    };
    let learner = recipe.method.method().learner(setup);
    match start {
        Some(_) => learner
            .context("`start` (or `--from`) needs a model whose networks are those of the recipe"),
        None => Ok(learner?),
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
    let catalog = Catalog::new(options.data.as_deref());
    check(&recipe, &catalog)?;
    for directory in [
        run.root().to_owned(),
        run.checkpoint_directory(),
        run.weights(),
    ] {
        whole_file::remove_leftovers(&directory).at("clean up", &directory)?;
    }
    let device = options.device.clone().autodiff();
    let dataset = open(&recipe, Split::Train, &catalog)?;
    let held_out = open(&recipe, Split::Valid, &catalog)?;
    let data = options.data.as_deref();
    let parts = [dataset.as_ref(), held_out.as_ref()];
    let features = TrainingFeatures::open(&recipe, data, parts, observer)?;
    let extractor = features.as_ref().map(|features| &features.extractor);
    let saved = run
        .checkpoints()
        .load(|warning| observer.warning(&warning))?;
    let (learner, start) = match saved {
        Some((bytes, from)) => {
            let mut learner = new_learner(&recipe, &device, Weights::Any, extractor)?;
            let (state, step) = LearnerState::from_bytes(&bytes).context(from.display())?;
            learner.restore(state).context(from.display())?;
            (learner, step)
        }
        None => {
            let learner = new_learner(&recipe, &device, Weights::Starting, extractor)?;
            (learner, 0)
        }
    };
    let event = match start {
        0 => Event::Started,
        _ => Event::Resumed,
    };
    run.event_log().write(event, start)?;
    observer.message(&match start {
        0 => "no checkpoint yet: training starts from step 0".to_owned(),
        _ => format!("training continues after step {start}"),
    });
    let logger = Logger::open(run, start, observer)?;
    observer.training_started(start, recipe.steps);
    let training = Training {
        dataset,
        held_out,
        features,
        run: run.clone(),
        recipe,
        options,
        observer,
        learner,
        logger,
    };
    training.steps(start)
}

#[cfg(test)]
mod tests;
