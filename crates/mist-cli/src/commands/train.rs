//! `mist train`

use mist_lab::recipe::{FolderRequest, Recipe};
use mist_lab::run::directory::RunDirectory;
use mist_lab::training::{End, TrainOptions, create_run, join, newest_run, tell_ranks, train};
use mist_lab::{Error, Result, Silent, mpi};

use crate::cli::Train;
use crate::console::Console;
use crate::signals::Signals;
use crate::stdout;

/// Trains and prints the run's directory; under an MPI launcher, as one of its ranks.
pub fn run(command: &Train, console: &mut Console) -> Result<()> {
    command.precision.select()?;
    let signals = Signals::listen()?;
    let options = TrainOptions {
        device: command.device.device()?,
        budget: command.budget,
        data: command.place.data.clone(),
        stop: &|| signals.seen(),
        communicator: mpi::connect()?,
    };
    let outcome = match options.communicator.rank() {
        0 => lead(command, &options, console),
        _ => follow(command, &options, console),
    };
    tell_ranks(outcome, &options.communicator)
}

fn lead(command: &Train, options: &TrainOptions, console: &mut Console) -> Result<()> {
    let run = if command.resume {
        existing_run(command)?
    } else {
        create_run(&recipe(command, console)?, command.out.as_deref(), options)?
    };
    console.line(format_args!("training in {}", run.root().display()));
    if train(&run, options, console)? == End::OutOfTime {
        console.line("the time is used up; `--resume` continues");
    }
    stdout::write(&format!("{}\n", run.root().display()))
}

/// A rank that keeps nothing: of a run to resume it knows what rank 0 says.
fn follow(command: &Train, options: &TrainOptions, console: &mut Console) -> Result<()> {
    let own = match command.resume {
        true => None,
        false => Some(recipe(command, console)?),
    };
    join(own.as_ref(), options, &mut Silent).map(|_| ())
}

/// What was said of a folder, if one was named.
fn folder(command: &Train) -> Option<FolderRequest> {
    Some(FolderRequest {
        images: command.images.clone()?,
        instances: command.instances,
        counts: command.counts.clone(),
        object_px: command.object_px,
    })
}

fn recipe(command: &Train, console: &mut Console) -> Result<Recipe> {
    let mut recipe = match folder(command) {
        Some(folder) => folder.recipe(&command.settings, console)?,
        None => Recipe::load(recipe_name(command)?, &command.settings)?,
    };
    recipe.seed = command.seed.unwrap_or(recipe.seed);
    if let Some(model) = &command.from {
        recipe.start = Some(model.clone());
    }
    Ok(recipe)
}

fn recipe_name(command: &Train) -> Result<&str> {
    command.recipe.as_deref().ok_or_else(|| {
        let reason = "say what to train on: your own images, `mist train --images DIR --instances K` or `mist train --images \
                      DIR --counts counts.csv`; or a recipe, such as `mist train mnist-hard-classify` (`mist recipe list`)";
        Error::Usage(reason.to_owned())
    })
}

/// The run to resume; a folder that was named must be the one that it was trained on.
fn existing_run(command: &Train) -> Result<RunDirectory> {
    let Some(request) = folder(command) else {
        return match (&command.out, &command.recipe) {
            (Some(out), None) => RunDirectory::open(out),
            _ => named_run(command, recipe_name(command)?),
        };
    };
    let run = named_run(command, request.recipe_name())?;
    let trained_on = run.recipe()?.images.map(|images| images.folder);
    if trained_on.as_ref() == Some(&request.folder()?) {
        return Ok(run);
    }
    Err(Error::Usage(format!(
        "{} was not trained on {}; name its run by `--out`",
        run.root().display(),
        request.images.display()
    )))
}

fn named_run(command: &Train, recipe: &str) -> Result<RunDirectory> {
    match &command.out {
        Some(out) => RunDirectory::open(out),
        None => newest_run(&Recipe::load(recipe, &[])?.experiment),
    }
}
