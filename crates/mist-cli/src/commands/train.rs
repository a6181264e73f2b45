//! `mist train`

use anyhow::Result;

use super::Say;
use crate::cli::Train;
use crate::exit::Usage;
use crate::recipe::Recipe;
use crate::run::directory::RunDirectory;
use crate::stdout;
use crate::training::{Conditions, End, check, starting_model, train};

/// Trains and prints the run's directory.
pub fn run(command: &Train, say: Say) -> Result<()> {
    command.precision.select()?;
    let run = if command.resume {
        existing(command)?
    } else {
        let mut recipe = Recipe::load(&command.recipe, &command.settings)?;
        recipe.seed = command.seed.unwrap_or(recipe.seed);
        if let Some(model) = &command.from {
            recipe.start = Some(model.clone());
        }
        check(&recipe, &command.place)?;
        starting_model(&recipe, &command.device.device()?)?;
        RunDirectory::create(&recipe, command.out.as_deref())?
    };
    say.line(format_args!("training in {}", run.root().display()));
    let conditions = Conditions {
        device: command.device.device()?,
        budget: command.budget,
        place: &command.place,
        say,
    };
    if train(&run, &conditions)? == End::OutOfTime {
        say.line("the time is used up; `--resume` continues");
    }
    stdout::write(&format!("{}\n", run.root().display()))
}

fn existing(command: &Train) -> Result<RunDirectory> {
    if let Some(out) = &command.out {
        return RunDirectory::open(out);
    }
    let recipe = Recipe::load(&command.recipe, &[])?;
    RunDirectory::newest(&recipe.experiment)?.ok_or_else(|| {
        Usage(format!(
            "there is no run of {} to go on with",
            recipe.experiment
        ))
        .into()
    })
}
