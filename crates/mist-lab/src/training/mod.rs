//! Trainings: checked before they start, run in a directory of their own, resumed where they stopped.

mod agreement;
mod features;
mod steps;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use burn::tensor::Device;
use mist::backbone::FeatureExtractor;
use mist::ranks::{Communicator, Ranks};
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

use agreement::Plan;
use features::TrainingFeatures;
use steps::{Kept, Training};

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
    /// How to reach the other ranks of the training; [`mist::ranks::Alone`] without others.
    pub communicator: Arc<dyn Communicator>,
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
    let weights = Weights::Starting;
    new_learner(
        recipe,
        &device,
        weights,
        extractor.as_ref(),
        &Ranks::default(),
    )?;
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
    ranks: &Ranks,
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
        ranks,
    };
    let learner = recipe.method.method().learner(setup);
    match start {
        Some(_) => learner
            .context("`start` (or `--from`) needs a model whose networks are those of the recipe"),
        None => Ok(learner?),
    }
}

/// Trains a run from its newest checkpoint, or from the start, as rank 0 of a training; the others [`join`].
///
/// # Errors
/// [`Error::Diverged`], [`Error::DamagedCheckpoint`] and [`Error::Interrupted`] as they say; otherwise when a file cannot
/// be read or written, or another rank stops or is lost. An error that is this rank's own must be told to the others:
/// [`tell_ranks`].
pub fn train(
    run: &RunDirectory,
    options: &TrainOptions,
    observer: &mut dyn Observer,
) -> Result<End> {
    let _lock = run.lock(observer)?;
    let recipe = run.recipe()?;
    check(&recipe, &Catalog::new(options.data.as_deref()))?;
    for directory in [
        run.root().to_owned(),
        run.checkpoint_directory(),
        run.weights(),
    ] {
        whole_file::remove_leftovers(&directory).at("clean up", &directory)?;
    }
    let saved = run
        .checkpoints()
        .load(|warning| observer.warning(&warning))?;
    let (state, from) = saved.map_or((Vec::new(), run.root().to_owned()), |saved| saved);
    let plan = Plan::share(&recipe, state, options)?;
    let (mut training, start) = plan.start(&from, options, observer)?;
    let event = match start {
        0 => Event::Started,
        _ => Event::Resumed,
    };
    run.event_log().write(event, start)?;
    training.observer.message(&match start {
        0 => "no checkpoint yet: training starts from step 0".to_owned(),
        _ => format!("training continues after step {start}"),
    });
    training.kept = Some(Kept {
        run: run.clone(),
        logger: Logger::open(run, start, training.observer)?,
    });
    training
        .observer
        .training_started(start, training.recipe.steps);
    training.steps(start)
}

/// Takes part in the training of rank 0, which keeps the run; `own` is the recipe as this rank was told it, if it was.
///
/// # Errors
/// As [`train`]; when this rank's recipe, data, version or instructions are not those of rank 0.
pub fn join(
    own: Option<&Recipe>,
    options: &TrainOptions,
    observer: &mut dyn Observer,
) -> Result<End> {
    let plan = Plan::hear(own, options)?;
    check(&plan.recipe, &Catalog::new(options.data.as_deref()))?;
    let (training, start) = plan.start(Path::new("rank 0"), options, observer)?;
    training.steps(start)
}

/// Tells the other ranks of an error, unless they know of it.
pub fn tell_ranks<T>(outcome: Result<T>, communicator: &Arc<dyn Communicator>) -> Result<T> {
    outcome.inspect_err(|error| {
        if communicator.size() > 1 && !error.is_of_another_rank() {
            let shards = communicator.size().next_power_of_two();
            if let Ok(ranks) = Ranks::new(Arc::clone(communicator), shards) {
                ranks.stop(error.fault().exit_code(), &error.to_string());
            }
        }
    })
}

impl Plan {
    /// Opens the data and makes the learner; the training, and the steps it has taken already.
    fn start<'a>(
        self,
        from: &Path,
        options: &'a TrainOptions<'a>,
        observer: &'a mut dyn Observer,
    ) -> Result<(Training<'a>, u64)> {
        let Self {
            recipe,
            state,
            ranks,
        } = self;
        let images = ranks.own_images(recipe.batch)?;
        let catalog = Catalog::new(options.data.as_deref());
        let device = options.device.clone().autodiff();
        let dataset = open(&recipe, Split::Train, &catalog)?;
        let held_out = open(&recipe, Split::Valid, &catalog)?;
        agreement::same_data(&ranks, [dataset.as_ref(), held_out.as_ref()])?;
        let data = options.data.as_deref();
        let parts = [dataset.as_ref(), held_out.as_ref()];
        // On a shared disk the others find what rank 0 has computed.
        if ranks.rank() > 0 {
            ranks.gather(Vec::new())?;
        }
        let features = TrainingFeatures::open(&recipe, data, parts, observer)?;
        if ranks.rank() == 0 {
            ranks.gather(Vec::new())?;
        }
        let extractor = features.as_ref().map(|features| &features.extractor);
        let weights = match state.is_empty() {
            true => Weights::Starting,
            false => Weights::Any,
        };
        let mut learner = new_learner(&recipe, &device, weights, extractor, &ranks)?;
        let mut start = 0;
        if !state.is_empty() {
            let (state, step) = LearnerState::from_bytes(&state).context(from.display())?;
            learner.restore(state).context(from.display())?;
            start = step;
        }
        let training = Training {
            dataset,
            held_out,
            features,
            recipe,
            options,
            observer,
            learner,
            ranks,
            images,
            kept: None,
        };
        Ok((training, start))
    }
}

#[cfg(test)]
mod tests;
