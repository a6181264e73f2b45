//! Recipes: everything that decides a training, in one TOML file.

mod built_in;
mod overrides;

use std::path::{Path, PathBuf};

use mist::model::ModelConfig;
use mist::training::Optimisers;
use serde::{Deserialize, Serialize};

pub use built_in::names;

use crate::error::{AtPath, Context, Error, Result};
use crate::methods::MethodConfig;

/// A training, from the data to the last learning rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The name of its results.
    pub experiment: String,
    /// The data set it learns from.
    pub dataset: String,
    /// Decides starting weights, the order of the data and everything else that is drawn at random.
    pub seed: u64,
    /// Training steps.
    pub steps: u64,
    /// Images per step.
    pub batch: usize,
    /// A model or run whose weights the networks start from, instead of random ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<PathBuf>,
    /// How often things are logged and saved.
    pub every: Every,
    /// Optimisers, by network.
    #[serde(default)]
    pub optimiser: Optimisers,
    /// How the networks are trained.
    pub method: MethodConfig,
    /// The networks.
    pub model: ModelConfig,
}

/// Steps between two of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Every {
    /// Lines in metrics.jsonl.
    pub log: u64,
    /// Checkpoints.
    pub checkpoint: u64,
    /// Pictures.
    pub sample: u64,
    /// Evaluations on held-out images.
    pub validation: u64,
}

impl Recipe {
    /// Reads a built-in recipe by name or a TOML file, then changes single settings (`key=value`).
    ///
    /// # Errors
    /// When there is no such recipe, or a setting is unknown or out of range.
    pub fn load(name: &str, settings: &[String]) -> Result<Self> {
        let text = match built_in::text(name) {
            Some(text) => text.to_owned(),
            None => file_text(name)?,
        };
        let mut table: toml::Table = text
            .parse()
            .map_err(|error| Error::Usage(format!("{name} is not valid TOML: {error}")))?;
        for setting in settings {
            overrides::apply(&mut table, setting)?;
        }
        Self::from_table(table).context(format_args!("recipe {name}"))
    }

    /// Reads the resolved recipe of a run.
    ///
    /// # Errors
    /// When it is not a valid recipe.
    pub fn from_resolved(text: &str) -> Result<Self> {
        let table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| Error::Usage(error.to_string()))?;
        Self::from_table(table)
    }

    fn from_table(table: toml::Table) -> Result<Self> {
        let recipe: Self = table
            .try_into()
            .map_err(|error: toml::de::Error| Error::Usage(overrides::explain(&error)))?;
        recipe.check()?;
        Ok(recipe)
    }

    /// The whole recipe as TOML.
    ///
    /// # Errors
    /// When a value has no form in TOML.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string_pretty(self)
            .map_err(|error| Error::Failed(format!("cannot write the recipe as TOML: {error}")))
    }

    fn check(&self) -> Result<()> {
        let positive = [
            ("steps", self.steps),
            ("batch", self.batch as u64),
            ("every.log", self.every.log),
            ("every.checkpoint", self.every.checkpoint),
            ("every.sample", self.every.sample),
            ("every.validation", self.every.validation),
            (
                "model.extractor.instances",
                self.model.extractor.instances as u64,
            ),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Err(Error::Usage(format!("`{name}` must be at least 1")));
        }
        if self.experiment.is_empty() || self.experiment.contains(['/', '\\', '.']) {
            let reason = "`experiment` must be a plain name, it names files";
            return Err(Error::Usage(reason.to_owned()));
        }
        let method = self.method.method();
        self.model.check()?;
        method.check(&self.model)?;
        Ok(self.optimiser.check(method.networks())?)
    }
}

fn file_text(name: &str) -> Result<String> {
    let path = Path::new(name);
    let looks_like_a_file = path.extension().is_some() || name.contains('/');
    if !looks_like_a_file {
        let nearest = overrides::nearest(name, names());
        let hint = nearest.map_or(String::new(), |near| format!(" Did you mean `{near}`?"));
        return Err(Error::Usage(format!(
            "there is no recipe `{name}`.{hint} Built in: {}; or give a TOML file",
            names().collect::<Vec<_>>().join(", ")
        )));
    }
    std::fs::read_to_string(path).at("read the recipe", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_recipe_is_valid_and_named_after_its_experiment() {
        for name in names() {
            let recipe = Recipe::load(name, &[]).unwrap();
            assert_eq!(recipe.experiment, name);
            let again = Recipe::from_resolved(&recipe.to_toml().unwrap()).unwrap();
            assert_eq!(recipe, again);
        }
    }

    #[test]
    fn settings_that_came_later_may_be_missing() {
        let text = Recipe::load("mnist-hard-official", &[])
            .unwrap()
            .to_toml()
            .unwrap();
        let later = [
            "seeded_steps",
            "seeds_compete",
            "keypoint_limit_px",
            "jitter_px",
            "jitter_scale",
            "mass_window_px",
            "suppression",
            "seeds =",
            "seed_box_share",
            "reseed_below",
            "heatmap_window_px",
            "coarse_to_fine_steps",
            "keypoint_momentum",
            "lambda_warmup_steps",
            "jitter_turn_rad",
            "background",
            "context",
        ];
        let older: Vec<&str> = text
            .lines()
            .filter(|line| !later.iter().any(|name| line.starts_with(name)))
            .collect();
        assert_eq!(older.len() + later.len(), text.lines().count());
        let older = Recipe::from_resolved(&older.join("\n")).unwrap();
        assert_eq!(older, Recipe::load("mnist-hard-official", &[]).unwrap());
    }

    #[test]
    fn settings_change_what_they_name() {
        let settings = [
            "batch=7".to_owned(),
            "optimiser.task.adam.rate=0.5".to_owned(),
        ];
        let recipe = Recipe::load("glyphs-demo", &settings).unwrap();
        assert_eq!(recipe.batch, 7);
        assert_eq!(recipe.optimiser.task.adam.rate, 0.5);
    }

    #[test]
    fn mistakes_name_the_nearest_key() {
        let error = |setting: &str| {
            let error = Recipe::load("glyphs-demo", &[setting.to_owned()]).unwrap_err();
            error.to_string()
        };
        assert!(error("bacth=7").contains("`batch`"), "{}", error("bacth=7"));
        assert!(error("optimiser.tsk.adam.rate=1").contains("`task`"));
        let choice = error("model.extractor.suppression=gredy");
        assert!(
            choice.contains("unknown choice `gredy`; did you mean `greedy`"),
            "{choice}"
        );
        assert!(error("batch=0").contains("at least 1"));
        assert!(error("model.background=nan").contains("`background`"));
        assert!(error("method.lifted.keypoint_momentum=nan").contains("`keypoint_momentum`"));
        assert!(error("batch=many").contains("expected usize"));
        assert!(error("batch").contains("key=value"));
        assert!(error("scenes=\"hrad\"").contains("hard"));
        let unknown = Recipe::load("glyphs-dmeo", &[]).unwrap_err();
        assert!(unknown.to_string().contains("`glyphs-demo`"));
    }
}
