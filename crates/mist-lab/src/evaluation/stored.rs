//! A model on disk, evaluated on held-out images and recorded.

use std::path::PathBuf;
use std::time::Instant;

use burn::tensor::Device;
use mist::finder::Finder;
use mist::metrics::{Bootstrap, Evaluation};
use mist::proposals::Proposals;
use mist_data::{Catalog, Split};

use super::annotated::{self, Annotated};
use super::{ProposalFinder, confusion, predict_with, score_chart};
use crate::backbones;
use crate::error::{AtPath, Error, Result};
use crate::features::FeatureCache;
use crate::machine;
use crate::models::{self, Choice, Loaded, Origin};
use crate::observer::Observer;
use crate::results::ResultFile;
use crate::run::directory::RunDirectory;
use crate::run::{metrics_log, whole_file};
use crate::sheets;

/// Ends the name of a result whose keypoints were proposals.
pub const PROPOSALS_ALONE: &str = "-proposals-alone";
/// Ends the name of a result of images and their mirror images.
pub const MIRRORED: &str = "-mirrored";

/// What to evaluate, on what.
#[derive(Clone, Debug)]
pub struct EvaluateOptions {
    /// A run or a model directory.
    pub model: PathBuf,
    /// Which weights of a run.
    pub choice: Choice,
    /// Data set, instead of the one it was trained on.
    pub dataset: Option<String>,
    /// Which part.
    pub split: Split,
    /// How many images.
    pub count: u64,
    /// Images with boxes that people have drawn, instead of a data set.
    pub annotated: Option<Annotated>,
    /// Takes keypoints from proposals, not from the heatmap; recorded as `<experiment>-proposals-alone`.
    pub proposals: Option<Proposals>,
    /// Looks at mirror images too, for models with a backbone; recorded as `<experiment>-mirrored`.
    pub mirror: bool,
    /// Where to compute.
    pub device: Device,
    /// Where data is, instead of the usual places.
    pub data: Option<PathBuf>,
    /// Draws what is found in the first images into this PNG file.
    pub sheet: Option<PathBuf>,
    /// Another run or model whose detections are drawn below: right ones in green, wrong ones in red.
    pub beside: Option<PathBuf>,
    /// Writes precision and recall over the score and a confusion matrix into this directory, for models with a backbone.
    pub mistakes: Option<PathBuf>,
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

/// Evaluates a model on held-out images.
///
/// # Errors
/// When the model or the images cannot be read, or a file cannot be written.
pub fn evaluate(
    options: &EvaluateOptions,
    observer: &mut dyn Observer,
) -> Result<StoredEvaluation> {
    let device = &options.device;
    let data = options.data.as_deref();
    let loaded = models::load_changed(&options.model, options.choice, data, device, |card| {
        if let Some(backbone) = &mut card.model.backbone {
            backbone.mirror |= options.mirror;
        }
    })?;
    let finder: &dyn Finder = match options.proposals {
        None => loaded.finder.as_ref(),
        Some(proposals) => &ProposalFinder {
            model: models::load_model(&options.model, options.choice, device)?,
            proposals,
        },
    };
    if let Some(annotated) = &options.annotated {
        return evaluate_annotated(options, &loaded, annotated, observer);
    }
    let catalog = Catalog::new(options.data.as_deref());
    let dataset = match &options.dataset {
        Some(name) => catalog.open(name, 0, options.split)?,
        None => loaded.dataset(options.split, &catalog)?,
    };
    observer.message(&format!(
        "{} on {} images of {}",
        loaded.weights.display(),
        dataset
            .len()
            .map_or(options.count, |len| len.min(options.count)),
        dataset.name()
    ));
    let features = match &loaded.card.model.backbone {
        // Features that are kept are those of the images alone.
        Some(config) if !config.mirror => {
            let (backbone, sha256) = backbones::load(config, data)?;
            let backbone = (&backbone, sha256.as_str());
            Some(FeatureCache::open(
                dataset.as_ref(),
                backbone,
                config,
                observer,
            )?)
        }
        _ => None,
    };
    let begun = Instant::now();
    let dataset_ref = dataset.as_ref();
    let predictions = predict_with(
        finder,
        dataset_ref,
        features.as_ref(),
        options.count,
        device,
    )?;
    let secs_per_image = begun.elapsed().as_secs_f64() / options.count.max(1) as f64;
    let evaluation = predictions.evaluate(Some(Bootstrap::default()));
    let background = loaded.card.class_names.len().saturating_sub(1);
    if let Some(directory) = &options.mistakes {
        if !finder.is_at_most() {
            return Err(Error::Usage(
                "`--mistakes` needs a model of photographs".to_owned(),
            ));
        }
        std::fs::create_dir_all(directory).at("create", directory)?;
        let images = &predictions.images;
        let chart = score_chart(images, background);
        whole_file::write(&directory.join("scores.svg"), chart.as_bytes())?;
        let table = confusion(images, &loaded.card.class_names);
        whole_file::write(&directory.join("confusion.tsv"), table.as_bytes())?;
    }
    if let Some(path) = &options.sheet {
        let sheet = match finder.classes() {
            Some(_) if options.beside.is_some() => {
                let other = options.beside.as_deref().unwrap_or(&options.model);
                let other = models::load_with(other, options.choice, data, device)?;
                let count = sheets::JUDGED;
                let others = predict_with(other.finder.as_ref(), dataset_ref, None, count, device)?;
                let rows = [predictions.images.as_slice(), others.images.as_slice()];
                sheets::judged(dataset_ref, &rows, &loaded.card.class_names)?
            }
            Some(_) => {
                let names = &loaded.card.class_names;
                sheets::detections(dataset.as_ref(), &predictions.images, names)?
            }
            None => sheets::patches(finder, dataset.as_ref(), device)?,
        };
        mist_data::write_png(path, &sheet)?;
    }
    let recorded = match (&options.record, &loaded.origin) {
        (None, _) => None,
        (Some(directory), Origin::Run(run)) => {
            let count = options.count;
            let mut result = result_of(options, run, &evaluation, dataset.name(), observer)?;
            result.command = format!("{} --count {count} --record", result.command);
            result.test_images = count;
            result.secs_per_image = Some(secs_per_image);
            Some(result.save(directory)?)
        }
        (Some(_), Origin::Directory) => return Err(no_run()),
    };
    Ok(StoredEvaluation {
        evaluation,
        recorded,
    })
}

fn no_run() -> Error {
    let reason = "only runs can be recorded: a model directory has no curve";
    Error::Usage(reason.to_owned())
}

fn evaluate_annotated(
    options: &EvaluateOptions,
    loaded: &Loaded,
    annotated: &Annotated,
    observer: &mut dyn Observer,
) -> Result<StoredEvaluation> {
    let begun = Instant::now();
    let images = annotated.predict(loaded, &options.device, observer)?;
    let secs = begun.elapsed().as_secs_f64();
    let evaluation = annotated::evaluate(&images, &loaded.card.class_names);
    let recorded = match (&options.record, &loaded.origin) {
        (None, _) => None,
        (Some(directory), Origin::Run(run)) => {
            let mut result = result_of(options, run, &evaluation, annotated.name(), observer)?;
            result.command = format!("{} --images ... --boxes ... --record", result.command);
            result.test_images = images.len() as u64;
            result.secs_per_image = Some(secs / images.len() as f64);
            Some(result.save(directory)?)
        }
        (Some(_), Origin::Directory) => return Err(no_run()),
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
    dataset: String,
    observer: &mut dyn Observer,
) -> Result<ResultFile> {
    let recipe = run.recipe()?;
    let environment = run.environment()?;
    let curve = metrics_log::read(&run.metrics())?.into_lines(&run.metrics(), observer);
    let last = curve.last();
    let (suffix, flag) = match options.proposals {
        None if options.mirror => (MIRRORED, " --mirror"),
        None => ("", ""),
        Some(Proposals::Cover) => (PROPOSALS_ALONE, " --proposals cover"),
        Some(Proposals::Peaks) => (PROPOSALS_ALONE, " --proposals peaks"),
    };
    Ok(ResultFile {
        experiment: format!("{}{suffix}", recipe.experiment),
        method: recipe.method.method().name().to_owned(),
        dataset,
        command: format!("{} && mist eval RUN{flag}", environment.shell_command(),),
        commit: environment.commit,
        seed: recipe.seed,
        machine: environment.machine,
        wall_secs: last.map_or(0.0, |line| line.secs),
        images_seen: last.map_or(0, |line| line.step) * recipe.batch as u64,
        test_images: 0,
        secs_per_image: None,
        peak_memory_mb: machine::peak_memory_mb(),
        metrics: evaluation.metrics.clone(),
        intervals: evaluation.intervals.clone(),
        curve,
        config: without_places(serde_json::to_value(&recipe)?),
    })
}

/// A recipe without where its images and tables are on this machine.
fn without_places(mut config: serde_json::Value) -> serde_json::Value {
    for place in ["/images/folder", "/images/counts"] {
        if let Some(serde_json::Value::String(path)) = config.pointer_mut(place) {
            let name = PathBuf::from(&*path);
            let name = name.file_name().unwrap_or_default();
            *path = name.to_string_lossy().into_owned();
        }
    }
    config
}
