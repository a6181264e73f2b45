//! A model on disk, evaluated on held-out scenes and recorded.

use std::path::PathBuf;
use std::time::Instant;

use burn::tensor::Device;
use mist::metrics::{Bootstrap, Evaluation};
use mist::model::TaskNetwork;
use mist_data::{SceneKind, Split};

use super::{Proposals, detect_scenes, judge};
use crate::error::{Error, Result};
use crate::models::{self, Choice, Origin};
use crate::observer::Observer;
use crate::patches::patch_sheet;
use crate::results::ResultFile;
use crate::run::directory::RunDirectory;
use crate::run::metrics_log;
use crate::{batches, detections, machine};

/// What to evaluate, on what.
#[derive(Clone, Debug)]
pub struct EvaluateOptions {
    /// A run or a model directory.
    pub model: PathBuf,
    /// Which weights of a run.
    pub choice: Choice,
    /// Scene kind, instead of the one it was trained on.
    pub scenes: Option<SceneKind>,
    /// Which part.
    pub split: Split,
    /// How many scenes.
    pub count: u64,
    /// Where keypoints come from.
    pub proposals: Proposals,
    /// Where to compute.
    pub device: Device,
    /// Where MNIST is, instead of the usual places.
    pub data: Option<PathBuf>,
    /// Draws what is found in the first scenes into this PNG file.
    pub sheet: Option<PathBuf>,
    /// Writes a result file into this directory; for runs only.
    pub record: Option<PathBuf>,
}

/// What an evaluation found.
#[derive(Clone, Debug)]
pub struct StoredEvaluation {
    /// Metrics with 95 % intervals.
    pub evaluation: Evaluation,
    /// The result file, if one was asked for.
    pub recorded: Option<PathBuf>,
}

/// Evaluates a model on held-out scenes.
///
/// # Errors
/// When the model or the scenes cannot be read, or a file cannot be written.
pub fn evaluate(
    options: &EvaluateOptions,
    observer: &mut dyn Observer,
) -> Result<StoredEvaluation> {
    let device = &options.device;
    let loaded = models::load(&options.model, options.choice, device)?;
    let kind = match options.scenes {
        Some(kind) => kind,
        None => loaded.card.kind()?,
    };
    let set = batches::open(kind, 0, options.split, options.data.as_deref())?;
    observer.message(&format!(
        "{} on {} {} scenes of kind {kind}",
        loaded.weights.display(),
        options.count,
        options.split
    ));
    let begun = Instant::now();
    let results = detect_scenes(
        &loaded.model,
        &set,
        options.count,
        options.proposals,
        device,
    )?;
    let secs_per_image = begun.elapsed().as_secs_f64() / options.count.max(1) as f64;
    let instances = loaded.card.model.extractor.instances;
    let bootstrap = Some(Bootstrap::default());
    let evaluation = judge(&results, set.classes(), instances, bootstrap);
    if let Some(path) = &options.sheet {
        let task = &loaded.model.config().task;
        match task {
            TaskNetwork::Classifier { .. } => {
                detections::write_sheet(path, &set, &results.images, task)?;
            }
            TaskNetwork::Autoencoder { .. } => {
                mist_data::write_png(path, &patch_sheet(&loaded.model, &set, device)?)?;
            }
        }
    }
    let recorded = match (&options.record, &loaded.origin) {
        (None, _) => None,
        (Some(directory), Origin::Run(run)) => {
            let mut result = result_of(options, run, &evaluation, kind, observer)?;
            result.secs_per_image = Some(secs_per_image);
            Some(result.save(directory)?)
        }
        (Some(_), Origin::Directory) => {
            let reason = "only runs can be recorded: a model directory has no curve";
            return Err(Error::Usage(reason.to_owned()));
        }
    };
    Ok(StoredEvaluation {
        evaluation,
        recorded,
    })
}

fn result_of(
    options: &EvaluateOptions,
    run: &RunDirectory,
    evaluation: &Evaluation,
    kind: SceneKind,
    observer: &mut dyn Observer,
) -> Result<ResultFile> {
    let recipe = run.recipe()?;
    let environment = run.environment()?;
    let curve = metrics_log::read(&run.metrics())?.into_lines(&run.metrics(), observer);
    let last = curve.last();
    Ok(ResultFile {
        experiment: recipe.experiment.clone(),
        method: recipe.method.name().to_owned(),
        dataset: format!("{} {}", kind.name(), options.split),
        command: format!(
            "{} && mist eval RUN --count {} --record",
            environment.shell_command(),
            options.count,
        ),
        commit: environment.commit,
        seed: recipe.seed,
        machine: environment.machine,
        wall_secs: last.map_or(0.0, |line| line.secs),
        images_seen: last.map_or(0, |line| line.step) * recipe.batch as u64,
        test_images: options.count,
        secs_per_image: None,
        peak_memory_mb: machine::peak_memory_mb(),
        metrics: evaluation.metrics,
        intervals: evaluation.intervals,
        curve,
        config: serde_json::to_value(&recipe)?,
    })
}
