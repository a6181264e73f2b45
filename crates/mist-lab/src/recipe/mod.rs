//! Recipes: everything that decides a training, in one TOML file or in the differences to another.

mod built_in;
mod chain;
mod check;
mod folder;
mod hints;
mod layers;
mod legacy;
mod overrides;
mod resolved;

use std::path::PathBuf;

use mist::model::ModelConfig;
use mist::ranks::Ranks;
use mist::training::Optimisers;
use mist_data::{Catalog, FOLDER, ImageFolder};
use serde::{Deserialize, Serialize};

pub use built_in::names;
pub(crate) use check::check_experiment;
pub use folder::{FolderRequest, Instances};
pub use legacy::card as legacy_card;
pub use resolved::Resolved;

use crate::error::{Context, Error, Result};
use crate::methods::MethodConfig;

/// A training, from the data to the last learning rate.
///
/// In a file most of it may be left out: the networks and the method are then the paper's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The name of its results.
    pub experiment: String,
    /// The data set it learns from.
    pub dataset: String,
    /// The folder, if that is what the data set is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<ImageFolder>,
    /// Whose counts it learns from.
    #[serde(default, skip_serializing_if = "Counts::are_own")]
    pub counts: Counts,
    /// Decides starting weights, the order of the data and everything else that is drawn at random.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Training steps.
    pub steps: u64,
    /// Images per step.
    #[serde(default = "default_batch")]
    pub batch: usize,
    /// Parts of a batch whose gradients are summed apart before they are added up, and so the most ranks that can share it: a
    /// power of two. Another number gives other roundings.
    #[serde(default = "default_shards", skip_serializing_if = "is_default_shards")]
    pub shards: usize,
    /// A model or run whose weights the networks start from, instead of random ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<PathBuf>,
    /// How often things are logged and saved.
    #[serde(default)]
    pub every: Every,
    /// Optimisers, by network.
    #[serde(default)]
    pub optimiser: Optimisers,
    /// How the networks are trained.
    pub method: MethodConfig,
    /// The networks.
    pub model: ModelConfig,
}

/// Whose counts an image is learned with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// Its own.
    #[default]
    Own,
    /// Another image's: a control, from which nothing can be learned but how frequent the classes are.
    Shuffled,
}

impl Counts {
    fn are_own(&self) -> bool {
        *self == Self::Own
    }
}

/// Steps between two of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Every {
    /// Lines in metrics.jsonl.
    pub log: u64,
    /// Checkpoints.
    pub checkpoint: u64,
    /// Pictures.
    pub sample: u64,
    /// Evaluations on held-out images.
    pub validation: u64,
    /// Weights that are kept beside the best and the newest; 0 keeps none.
    #[serde(skip_serializing_if = "is_zero")]
    pub snapshot: u64,
}

impl Default for Every {
    fn default() -> Self {
        Self {
            log: 20,
            checkpoint: 200,
            sample: 1000,
            validation: 1000,
            snapshot: 0,
        }
    }
}

fn is_zero(steps: &u64) -> bool {
    *steps == 0
}

fn default_seed() -> u64 {
    1
}

fn default_batch() -> usize {
    16
}

fn default_shards() -> usize {
    Ranks::SHARDS
}

fn is_default_shards(shards: &usize) -> bool {
    *shards == Ranks::SHARDS
}

impl Recipe {
    /// Reads a built-in recipe by name or a TOML file with all that it extends, then changes single settings
    /// (`key=value`).
    ///
    /// # Errors
    /// When there is no such recipe, or a setting is unknown or out of range.
    pub fn load(name: &str, settings: &[String]) -> Result<Self> {
        Ok(Resolved::load(name, settings)?.recipe)
    }

    /// Reads the resolved recipe of a run, of today's form or the one before.
    ///
    /// # Errors
    /// When it is not a valid recipe.
    pub fn from_resolved(text: &str) -> Result<Self> {
        let table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| Error::Usage(error.to_string()))?;
        if legacy::is_old(&table) {
            return Self::from_table(legacy::translate(table)?);
        }
        Self::from_table(table)
    }

    fn from_table(table: toml::Table) -> Result<Self> {
        let mut recipe: Self = table
            .try_into()
            .map_err(|error: toml::de::Error| Error::Usage(hints::explain(&error)))?;
        recipe.check()?;
        // The settings of every optimiser are written into the run, defaults too.
        let networks = recipe.method.method().networks().iter();
        recipe.optimiser = networks
            .map(|&network| (network, recipe.optimiser.get(network)))
            .collect();
        Ok(recipe)
    }

    /// What the classes of its data set are called, by label.
    ///
    /// # Errors
    /// When there is no such data set.
    pub fn class_names(&self) -> Result<Vec<String>> {
        match self.dataset.as_str() {
            FOLDER => Ok(self.folder()?.class_names()),
            name => Catalog::class_names(name).context("`dataset`"),
        }
    }

    /// The folder of a recipe whose data set is one.
    ///
    /// # Errors
    /// When it names none.
    pub(crate) fn folder(&self) -> Result<&ImageFolder> {
        self.images.as_ref().ok_or_else(|| {
            let reason = "this recipe needs a folder of images: `mist train --images DIR --instances K` trains on one";
            Error::Usage(reason.to_owned())
        })
    }

    /// The whole recipe as TOML.
    ///
    /// # Errors
    /// When a value has no form in TOML.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string_pretty(self).map_err(not_toml)
    }
}

fn not_toml(error: toml::ser::Error) -> Error {
    Error::Failed(format!("cannot write the recipe as TOML: {error}"))
}

#[cfg(test)]
mod tests;
