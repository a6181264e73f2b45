//! What recipes and models may say.

use std::ops::RangeInclusive;

use mist_data::{Catalog, FOLDER};

use super::{Recipe, hints};
use crate::error::{Context, Error, Result};

const MAX_STEPS: u64 = 1_000_000_000;
const MAX_BATCH: u64 = 65_536;
const MAX_SHARDS: u64 = 1 << 12;
const MAX_NAME_CHARS: usize = 100;

impl Recipe {
    /// Refuses settings that no training could follow; [`Recipe::load`] has done so.
    ///
    /// # Errors
    /// When a name or a setting is unknown or out of range.
    pub fn check(&self) -> Result<()> {
        check_experiment(&self.experiment)?;
        match (self.dataset.as_str(), &self.images) {
            (FOLDER, None) => {}
            (FOLDER, Some(images)) => images.check()?,
            (name, None) => check_dataset(name)?,
            (_, Some(_)) => {
                let reason = format!("`images` needs `dataset = \"{FOLDER}\"`");
                return Err(Error::Usage(reason));
            }
        }
        let every = &self.every;
        for (name, value, range) in [
            // Integers in TOML are signed.
            ("seed", self.seed, 0..=i64::MAX as u64),
            ("steps", self.steps, 1..=MAX_STEPS),
            ("batch", self.batch as u64, 1..=MAX_BATCH),
            ("shards", self.shards as u64, 1..=MAX_SHARDS),
            ("every.log", every.log, 1..=MAX_STEPS),
            ("every.checkpoint", every.checkpoint, 1..=MAX_STEPS),
            ("every.sample", every.sample, 1..=MAX_STEPS),
            ("every.validation", every.validation, 1..=MAX_STEPS),
            ("every.snapshot", every.snapshot, 0..=MAX_STEPS),
        ] {
            check_range(name, value, range)?;
        }
        if !self.shards.is_power_of_two() {
            let reason = format!("`shards` must be a power of two, not {}", self.shards);
            return Err(Error::Usage(reason));
        }
        let method = self.method.method();
        self.model.check().context("`model`")?;
        method
            .check(&self.model)
            .context(format_args!("`method.{}`", self.method.name()))?;
        match self.optimiser.check(method.networks()) {
            Err(mist::Error::UnknownNetwork { name, known }) => {
                let nearest = hints::nearest(&name, method.networks().iter().copied());
                let hint = nearest.map_or(String::new(), |near| format!("did you mean `{near}`? "));
                Err(Error::Usage(format!(
                    "unknown key `{name}` in `optimiser`; {hint}The networks of `{}` are {known}",
                    self.method.name()
                )))
            }
            checked => checked.context("`optimiser`"),
        }
    }
}

/// Refuses a name of results that could not be the name of a file.
///
/// # Errors
/// When it is empty, too long, dots alone, or holds separators, wildcards or control characters.
pub(crate) fn check_experiment(name: &str) -> Result<()> {
    // What separates paths or has a meaning to shells and file systems.
    let special = |letter: char| letter.is_control() || r#"/\:*?"<>|"#.contains(letter);
    let plain = !name.contains(special);
    let dots = name.chars().all(|letter| letter == '.');
    if plain && !dots && name.chars().count() <= MAX_NAME_CHARS {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "`experiment` must be a plain name of 1 to {MAX_NAME_CHARS} characters: it names files"
    )))
}

fn check_dataset(dataset: &str) -> Result<()> {
    Catalog::class_names(dataset).context("`dataset`")?;
    Ok(())
}

fn check_range(name: &str, value: u64, range: RangeInclusive<u64>) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "`{name}` must be at least {} and at most {}",
        range.start(),
        range.end()
    )))
}
