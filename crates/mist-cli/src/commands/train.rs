//! `mist train`

use mist_lab::Result;
use mist_lab::recipe::Recipe;
use mist_lab::run::directory::RunDirectory;
use mist_lab::training::{End, TrainOptions, create_run, newest_run, train};

use crate::cli::Train;
use crate::console::Console;
use crate::signals::Signals;
use crate::stdout;

/// Trains and prints the run's directory.
pub fn run(command: &Train, console: &mut Console) -> Result<()> {
    command.precision.select()?;
    let signals = Signals::listen()?;
    let options = TrainOptions {
        device: command.device.device()?,
        budget: command.budget,
        data: command.place.data.clone(),
        stop: &|| signals.seen(),
    };
    let run = if command.resume {
        existing_run(command)?
    } else {
        create_run(&recipe(command)?, command.out.as_deref(), &options)?
    };
    console.line(format_args!("training in {}", run.root().display()));
    if train(&run, &options, console)? == End::OutOfTime {
        console.line("the time is used up; `--resume` continues");
    }
    stdout::write(&format!("{}\n", run.root().display()))
}

fn recipe(command: &Train) -> Result<Recipe> {
    let mut recipe = Recipe::load(&command.recipe, &command.settings)?;
    recipe.seed = command.seed.unwrap_or(recipe.seed);
    if let Some(model) = &command.from {
        recipe.start = Some(model.clone());
    }
    Ok(recipe)
}

fn existing_run(command: &Train) -> Result<RunDirectory> {
    match &command.out {
        Some(out) => RunDirectory::open(out),
        None => newest_run(&Recipe::load(&command.recipe, &[])?.experiment),
    }
}
