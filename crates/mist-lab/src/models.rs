//! Trained models on disk: a run, or a directory with `config.json` and `weights.safetensors`.

use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use mist::finder::Finder;
use mist::model::{Model, ModelConfig};
use mist_data::SceneKind;
use serde::{Deserialize, Serialize};

use crate::error::{AtPath, Context, Error, Result};
use crate::methods::MethodConfig;
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
    /// The method that it was trained by.
    #[serde(default = "lifted")]
    pub method: String,
    /// The data set that it was trained on.
    pub dataset: String,
    /// What the labels are called.
    pub class_names: Vec<String>,
    /// Everything about the model but its weights.
    pub model: ModelConfig,
}

fn lifted() -> String {
    "lifted".to_owned()
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
pub struct Loaded {
    /// The model.
    pub finder: Box<dyn Finder>,
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
    let method = MethodConfig::by_name(&card.method)
        .ok_or_else(|| Error::input(path, format_args!("unknown method `{}`", card.method)))?;
    let bytes = read(&weights)?;
    let finder = method
        .method()
        .load(&card.model, &bytes, device)
        .context(weights.display())?;
    Ok(Loaded {
        finder,
        card,
        origin,
        weights,
    })
}

/// Reads a model whose parts are needed, not only what it finds.
///
/// # Errors
/// As [`load`]; when it is of another kind.
pub fn load_model(path: &Path, choice: Choice, device: &Device) -> Result<Model> {
    let (card, weights, _) = find(path, choice)?;
    let bytes = read(&weights)?;
    Model::from_safetensors(card.model, &bytes, device).context(weights.display())
}

/// The best weights of a run or a model directory, to start another training from.
///
/// # Errors
/// When there is none.
pub fn starting_weights(path: &Path) -> Result<Vec<u8>> {
    let (_, weights, _) = find(path, Choice::Best)
        .context("`start` (or `--from`) must name a model or a run that is here")?;
    read(&weights)
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

fn read(weights: &Path) -> Result<Vec<u8>> {
    fs::read(weights).at("read", weights)
}

fn card_of(run: &RunDirectory) -> Result<ModelCard> {
    let recipe = run.recipe()?;
    let class_names = match recipe.model.task.classes() {
        Some(_) => class_names(&recipe.dataset)?,
        None => vec!["object".to_owned()],
    };
    Ok(ModelCard {
        class_names,
        experiment: recipe.experiment,
        method: recipe.method.name().to_owned(),
        dataset: recipe.dataset,
        model: recipe.model,
    })
}

/// What the labels of a data set are called; its files are not needed for that.
fn class_names(dataset: &str) -> Result<Vec<String>> {
    let kind: SceneKind = dataset
        .parse()
        .map_err(|error| Error::Usage(format!("`dataset`: {error}")))?;
    let names = kind.class_names().iter();
    Ok(names.map(|&name| name.to_owned()).collect())
}

/// Writes a model directory.
///
/// # Errors
/// When the directory cannot be written.
pub fn save(directory: &Path, loaded: &Loaded) -> Result<()> {
    fs::create_dir_all(directory).at("create", directory)?;
    let weights = loaded.finder.to_safetensors()?;
    whole_file::write(&directory.join(WEIGHTS), &weights)?;
    let config = serde_json::to_vec_pretty(&loaded.card)?;
    whole_file::write(&directory.join(CONFIG), &config)
}
