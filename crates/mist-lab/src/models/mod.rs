//! Trained models on disk: a run, or a directory with `config.json` and `weights.safetensors`.

mod calibrated;
mod checksum;
#[cfg(test)]
mod fuzz;

pub use calibrated::calibrate;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use burn::tensor::Device;
use mist::finder::Finder;
use mist::model::{Model, ModelConfig};
use mist_data::{Catalog, Dataset, FOLDER, Foreground, Split};
use serde::{Deserialize, Serialize};

use crate::backbones;
use crate::calibration::Calibration;
use crate::error::{AtPath, Context, Error, Result};
use crate::methods::MethodConfig;
use crate::recipe;
use crate::run::directory::RunDirectory;
use crate::run::whole_file;
use crate::training;

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
    /// The method's settings, where what is found depends on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<MethodConfig>,
    /// The data set that it was trained on.
    pub dataset: String,
    /// What the labels are called.
    pub class_names: Vec<String>,
    /// How objects differ from what is behind them, which decides what the networks see of an image.
    #[serde(default, skip_serializing_if = "Foreground::is_plain")]
    pub foreground: Foreground,
    /// Everything about the model but its weights.
    pub model: ModelConfig,
    /// SHA-256 of `weights.safetensors`, in hexadecimal; older models have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights_sha256: Option<String>,
}

impl ModelCard {
    /// Reads a `config.json`, of today's form or the one before.
    ///
    /// # Errors
    /// When it is not the JSON of a model, or a setting is out of range.
    pub fn from_json(text: &str) -> Result<Self> {
        let invalid = |error: serde_json::Error| Error::Usage(error.to_string());
        let json = recipe::legacy_card(serde_json::from_str(text).map_err(invalid)?)?;
        let card: Self = serde_json::from_value(json).map_err(invalid)?;
        card.check()?;
        Ok(card)
    }

    fn check(&self) -> Result<()> {
        recipe::check_experiment(&self.experiment)?;
        self.model.check().context("`model`")?;
        if let Some(settings) = &self.settings {
            let checked = settings.method().check(&self.model);
            checked.context("`settings`")?;
        }
        let names = self.class_names.len();
        if let Some(settings) = self.settings.as_ref().filter(|s| s.name() != self.method) {
            let reason = format!(
                "`settings` are of `{}`, the method is `{}`",
                settings.name(),
                self.method
            );
            return Err(Error::Usage(reason));
        }
        match self.model.task.classes() {
            Some(classes) if classes != names => Err(Error::Usage(format!(
                "`class_names` has {names} names, the classifier {classes} classes"
            ))),
            _ => Ok(()),
        }
    }
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
    /// Those after a number of steps, where the recipe kept them (`every.snapshot`).
    Step(u64),
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
#[derive(Debug)]
pub struct Loaded {
    /// The model.
    pub finder: Box<dyn Finder>,
    /// What is known of it.
    pub card: ModelCard,
    /// Where it came from.
    pub origin: Origin,
    /// The file of its weights.
    pub weights: PathBuf,
    /// What its scores mean, if that was found out.
    pub calibration: Option<Calibration>,
}

impl Loaded {
    /// The data set that it was trained on.
    ///
    /// # Errors
    /// When it is not here: a model directory does not say which folder it was trained on.
    pub fn dataset(&self, split: Split, catalog: &Catalog) -> Result<Arc<dyn Dataset>> {
        match &self.origin {
            Origin::Run(run) => training::open(&run.recipe()?, split, catalog),
            Origin::Directory if self.card.dataset == FOLDER => {
                let reason = "this model was trained on a folder, which only its run remembers: name the run";
                Err(Error::Usage(reason.to_owned()))
            }
            Origin::Directory => Ok(catalog.open(&self.card.dataset, 0, split)?),
        }
    }
}

/// Reads a model from a run or a model directory.
///
/// # Errors
/// When there is none, or a file is missing or damaged.
pub fn load(path: &Path, choice: Choice, device: &Device) -> Result<Loaded> {
    load_with(path, choice, None, device)
}

/// As [`load`], with weights of backbones looked for in a directory alone if one is given.
///
/// # Errors
/// As [`load`]; when its backbone's weights are not found.
pub fn load_with(
    path: &Path,
    choice: Choice,
    data: Option<&Path>,
    device: &Device,
) -> Result<Loaded> {
    load_changed(path, choice, data, device, |_| ())
}

/// As [`load_with`], after a change of its card.
///
/// # Errors
/// As [`load_with`].
pub fn load_changed(
    path: &Path,
    choice: Choice,
    data: Option<&Path>,
    device: &Device,
    change: impl FnOnce(&mut ModelCard),
) -> Result<Loaded> {
    let (mut card, weights, origin) = find(path, choice)?;
    change(&mut card);
    let method = match &card.settings {
        Some(settings) => Some(settings.clone()),
        None => MethodConfig::by_name(&card.method),
    };
    let method = method
        .ok_or_else(|| Error::input(path, format_args!("unknown method `{}`", card.method)))?;
    let bytes = read(&weights, &card)?;
    let backbone = match &card.model.backbone {
        Some(config) => Some(backbones::load(config, data)?.0),
        None => None,
    };
    let finder = method
        .method()
        .load(&card.model, &bytes, backbone.as_ref(), device)
        .context(weights.display())?;
    Ok(Loaded {
        finder,
        card,
        origin,
        weights,
        calibration: calibrated::read(path, &bytes)?,
    })
}

/// Reads a model whose parts are needed, not only what it finds.
///
/// # Errors
/// As [`load`]; when it is of another kind.
pub fn load_model(path: &Path, choice: Choice, device: &Device) -> Result<Model> {
    let (card, weights, _) = find(path, choice)?;
    let bytes = read(&weights, &card)?;
    Model::from_safetensors(card.model, &bytes, device).context(weights.display())
}

/// The best weights of a run or a model directory, to start another training from.
///
/// # Errors
/// When there is none.
pub fn starting_weights(path: &Path) -> Result<Vec<u8>> {
    let (card, weights, _) = find(path, Choice::Best)
        .context("`start` (or `--from`) must name a model or a run that is here")?;
    read(&weights, &card)
}

fn find(path: &Path, choice: Choice) -> Result<(ModelCard, PathBuf, Origin)> {
    if path.join(CONFIG).is_file() {
        let config = path.join(CONFIG);
        let text = fs::read_to_string(&config).at("read", &config)?;
        let card = ModelCard::from_json(&text).map_err(|error| Error::input(&config, error))?;
        Ok((card, path.join(WEIGHTS), Origin::Directory))
    } else {
        let run = RunDirectory::open(path)?;
        let card = card_of(&run)?;
        let best = run.weights().join("best.safetensors");
        let weights = match choice {
            Choice::Step(step) => run.snapshot(step),
            // A run that was stopped before its first validation has no best weights.
            Choice::Best if best.is_file() => best,
            Choice::Best | Choice::Last => run.weights().join("last.safetensors"),
        };
        Ok((card, weights, Origin::Run(run)))
    }
}

/// The bytes of a weights file, unless they are damaged.
fn read(weights: &Path, card: &ModelCard) -> Result<Vec<u8>> {
    let bytes = fs::read(weights).at("read", weights)?;
    let expected = card.weights_sha256.as_ref();
    if expected.is_some_and(|expected| *expected != checksum::of_bytes(&bytes)) {
        let reason = format!(
            "its SHA-256 is not the one in {CONFIG}: the file is damaged or of another model; export or copy it again"
        );
        return Err(Error::input(weights, reason));
    }
    if !checksum::is_intact(&bytes).context(weights.display())? {
        let reason = "its checksum is wrong: the file is damaged; copy it again";
        return Err(Error::input(weights, reason));
    }
    Ok(bytes)
}

fn card_of(run: &RunDirectory) -> Result<ModelCard> {
    let recipe = run.recipe()?;
    let class_names = match recipe.model.task.classes() {
        Some(_) => recipe.class_names()?,
        None => vec!["object".to_owned()],
    };
    let mut model = recipe.model;
    if let Some(images) = &recipe.images {
        // It was trained on crops, which hold fewer objects than whole images.
        model.extractor.instances = images.instances;
    }
    Ok(ModelCard {
        class_names,
        foreground: recipe
            .images
            .map(|images| images.foreground)
            .unwrap_or_default(),
        experiment: recipe.experiment,
        method: recipe.method.name().to_owned(),
        settings: recipe
            .method
            .method()
            .finder_has_settings()
            .then_some(recipe.method),
        dataset: recipe.dataset,
        model,
        weights_sha256: None,
    })
}

/// The weights of a model as a file that notices damage.
///
/// # Errors
/// When the device cannot be read.
pub fn weights_file(finder: &dyn Finder) -> Result<Vec<u8>> {
    Ok(checksum::sealed(&finder.to_safetensors()?)?)
}

/// What to do with a directory that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// Leave it alone.
    Refuse,
    /// Replace the model in it, if it holds one.
    Overwrite,
}

/// Writes a model directory.
///
/// # Errors
/// When the directory is not empty and may not be overwritten, or cannot be written.
pub fn save(directory: &Path, loaded: &Loaded, if_exists: IfExists) -> Result<()> {
    fs::create_dir_all(directory).at("create", directory)?;
    let mut entries = fs::read_dir(directory).at("read", directory)?;
    if entries.next().is_some() {
        check_overwrite(directory, if_exists)?;
    }
    let weights = weights_file(loaded.finder.as_ref())?;
    let card = ModelCard {
        weights_sha256: Some(checksum::of_bytes(&weights)),
        ..loaded.card.clone()
    };
    whole_file::write(&directory.join(WEIGHTS), &weights)?;
    if let Some(calibration) = &loaded.calibration {
        calibrated::copy(directory, calibration, &weights)?;
    }
    whole_file::write(&directory.join(CONFIG), &serde_json::to_vec_pretty(&card)?)
}

fn check_overwrite(directory: &Path, if_exists: IfExists) -> Result<()> {
    let shown = directory.display();
    let is_model = directory.join(CONFIG).is_file() && directory.join(WEIGHTS).is_file();
    match (if_exists, is_model) {
        (IfExists::Overwrite, true) => Ok(()),
        (IfExists::Overwrite, false) => Err(Error::Usage(format!(
            "{shown} holds something else than a model, so it is not overwritten; choose another directory"
        ))),
        (IfExists::Refuse, true) => Err(Error::Usage(format!(
            "{shown} holds a model already; give --overwrite to replace it, or choose another directory"
        ))),
        (IfExists::Refuse, false) => Err(Error::Usage(format!(
            "{shown} is not empty; choose another directory"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use mist::device::Compute;

    use super::*;
    use crate::Fault;
    use crate::recipe::Recipe;

    fn saved(directory: &Path) -> Loaded {
        let recipe = Recipe::load("glyphs-demo", &[]).unwrap();
        let device = Compute::Cpu.device().unwrap();
        let loaded = Loaded {
            finder: Box::new(Model::init(recipe.model.clone(), 1, &device).unwrap()),
            card: ModelCard {
                class_names: recipe.class_names().unwrap(),
                experiment: recipe.experiment,
                method: lifted(),
                settings: None,
                dataset: recipe.dataset,
                foreground: Foreground::Plain,
                model: recipe.model,
                weights_sha256: None,
            },
            origin: Origin::Directory,
            weights: PathBuf::new(),
            calibration: None,
        };
        save(directory, &loaded, IfExists::Refuse).unwrap();
        loaded
    }

    fn load_again(directory: &Path) -> Result<Loaded> {
        load(directory, Choice::Best, &Compute::Cpu.device().unwrap())
    }

    /// Flips the highest bit of an exponent, which gives another finite value, in the middle of the tensors.
    fn flip_a_bit(path: &Path) {
        let mut bytes = fs::read(path).unwrap();
        let header_len = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let middle = 8 + header_len + (bytes.len() - 8 - header_len) / 8 * 4 + 3;
        bytes[middle] ^= 0x40;
        fs::write(path, bytes).unwrap();
    }

    #[test]
    fn a_flipped_bit_is_noticed_with_and_without_the_card() {
        let directory = tempfile::tempdir().unwrap();
        saved(directory.path());
        let (weights, config) = (
            directory.path().join(WEIGHTS),
            directory.path().join(CONFIG),
        );
        assert!(load_again(directory.path()).is_ok());
        flip_a_bit(&weights);
        let error = load_again(directory.path()).unwrap_err();
        assert_eq!(error.fault(), Fault::Input);
        assert!(error.to_string().contains("SHA-256"), "{error}");
        let mut card: ModelCard = serde_json::from_slice(&fs::read(&config).unwrap()).unwrap();
        card.weights_sha256 = None;
        fs::write(&config, serde_json::to_vec(&card).unwrap()).unwrap();
        let error = load_again(directory.path()).unwrap_err();
        assert!(error.to_string().contains("checksum"), "{error}");
        flip_a_bit(&weights);
        assert!(load_again(directory.path()).is_ok());
    }

    #[test]
    fn models_from_before_there_were_checksums_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let loaded = saved(directory.path());
        let weights = loaded.finder.to_safetensors().unwrap();
        fs::write(directory.path().join(WEIGHTS), weights).unwrap();
        fs::write(
            directory.path().join(CONFIG),
            serde_json::to_vec(&loaded.card).unwrap(),
        )
        .unwrap();
        assert!(load_again(directory.path()).is_ok());
    }

    #[test]
    fn only_models_are_overwritten_and_only_when_asked() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let loaded = saved(&at("model"));
        let refused = save(&at("model"), &loaded, IfExists::Refuse).unwrap_err();
        assert_eq!(refused.fault(), Fault::Usage);
        save(&at("model"), &loaded, IfExists::Overwrite).unwrap();
        fs::create_dir(at("other")).unwrap();
        fs::write(at("other/notes.txt"), "mine").unwrap();
        for if_exists in [IfExists::Refuse, IfExists::Overwrite] {
            let refused = save(&at("other"), &loaded, if_exists).unwrap_err();
            assert_eq!(refused.fault(), Fault::Usage);
        }
        assert_eq!(fs::read_dir(at("other")).unwrap().count(), 1);
    }
}
