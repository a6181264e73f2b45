//! Trained models on disk: a run, or a directory with `config.json` and `weights.safetensors`.

use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use mist::model::{Model, ModelConfig, TaskNetwork};
use mist_data::SceneKind;
use serde::{Deserialize, Serialize};

use crate::error::{AtPath, Context, Error, Result};
use crate::run::directory::RunDirectory;
use crate::run::whole_file;

const CONFIG: &str = "config.json";
const WEIGHTS: &str = "weights.safetensors";

/// What a model directory says of its weights.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCard {
    /// The experiment that it comes from.
    pub experiment: String,
    /// The scene kind that it was trained on.
    pub scenes: String,
    /// What the labels are called.
    pub class_names: Vec<String>,
    /// Everything about the model but its weights.
    pub model: ModelConfig,
}

impl ModelCard {
    /// The scene kind that it was trained on.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn kind(&self) -> Result<SceneKind> {
        let unknown = |error| Error::Usage(format!("`scenes`: {error}"));
        self.scenes.parse().map_err(unknown)
    }
}

/// Which weights of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The best on validation scenes.
    Best,
    /// The newest.
    Last,
}

/// Where a model came from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A training on this machine.
    Run(RunDirectory),
    /// A model directory.
    Directory,
}

/// A model read from disk.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The model.
    pub model: Model,
    /// What is known of it.
    pub card: ModelCard,
    /// Where it came from.
    pub origin: Origin,
    /// The file of its weights.
    pub weights: PathBuf,
}

/// Reads a model from a run or a model directory.
///
/// # Errors
/// When there is none, or a file is missing or damaged.
pub fn load(path: &Path, choice: Choice, device: &Device) -> Result<Loaded> {
    let (card, weights, origin) = find(path, choice)?;
    let model = read(&weights, card.model.clone(), device)?;
    Ok(Loaded {
        model,
        card,
        origin,
        weights,
    })
}

/// The best weights of a run or a model directory in networks of the same shapes, whatever else differs.
///
/// # Errors
/// When there is none, or its networks differ.
pub fn load_as(path: &Path, config: ModelConfig, device: &Device) -> Result<Model> {
    let (_, weights, _) = find(path, Choice::Best)
        .context("`start` (or `--from`) must name a model or a run that is here")?;
    read(&weights, config, device)
        .context("`start` (or `--from`) needs a model whose networks are those of the recipe")
}

fn find(path: &Path, choice: Choice) -> Result<(ModelCard, PathBuf, Origin)> {
    if path.join(CONFIG).is_file() {
        let config = path.join(CONFIG);
        let text = fs::read_to_string(&config).at("read", &config)?;
        let card = serde_json::from_str(&text).map_err(|error| Error::input(&config, error))?;
        Ok((card, path.join(WEIGHTS), Origin::Directory))
    } else {
        let run = RunDirectory::open(path)?;
        let card = card_of(&run)?;
        let best = run.weights().join("best.safetensors");
        let weights = if choice == Choice::Best && best.is_file() {
            best
        } else {
            run.weights().join("last.safetensors")
        };
        Ok((card, weights, Origin::Run(run)))
    }
}

fn read(weights: &Path, config: ModelConfig, device: &Device) -> Result<Model> {
    let bytes = fs::read(weights).at("read", weights)?;
    Model::from_safetensors(config, &bytes, device).context(weights.display())
}

fn card_of(run: &RunDirectory) -> Result<ModelCard> {
    let recipe = run.recipe()?;
    let names = match recipe.model.task {
        TaskNetwork::Classifier { .. } => recipe.kind()?.class_names(),
        TaskNetwork::Autoencoder { .. } => &["object"],
    };
    Ok(ModelCard {
        class_names: names.iter().map(|name| (*name).to_owned()).collect(),
        experiment: recipe.experiment,
        scenes: recipe.scenes,
        model: recipe.model,
    })
}

/// Writes a model directory.
///
/// # Errors
/// When the directory cannot be written.
pub fn save(directory: &Path, loaded: &Loaded) -> Result<()> {
    fs::create_dir_all(directory).at("create", directory)?;
    let weights = loaded.model.to_safetensors()?;
    whole_file::write(&directory.join(WEIGHTS), &weights)?;
    let config = serde_json::to_vec_pretty(&loaded.card)?;
    whole_file::write(&directory.join(CONFIG), &config)
}
