//! `mist recipe`: what there is to train.

use mist_lab::Result;
use mist_lab::recipe::{Recipe as Settings, Resolved, names};

use crate::cli::Recipe;
use crate::stdout;

/// Runs one of the recipe verbs.
pub fn run(command: &Recipe) -> Result<()> {
    match command {
        Recipe::List => list(),
        Recipe::Show { recipe, settings } => {
            stdout::write(&Resolved::load(recipe, settings)?.to_commented_toml()?)
        }
    }
}

/// Prints every built-in recipe, tab-separated: name, data set, method, steps.
fn list() -> Result<()> {
    let mut table = String::new();
    for name in names() {
        let recipe = Settings::load(name, &[])?;
        let (dataset, method) = (&recipe.dataset, recipe.method.name());
        table += &format!("{name}\t{dataset}\t{method}\t{}\n", recipe.steps);
    }
    stdout::write(&table)
}
