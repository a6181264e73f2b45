//! `mist export`

use mist::device::Compute;
use mist_lab::Result;
use mist_lab::models::{self, Choice, IfExists};

use crate::cli::Export;
use crate::stdout;

/// Writes a model directory and prints its path.
pub fn run(command: &Export) -> Result<()> {
    let choice = match command.last {
        true => Choice::Last,
        false => Choice::Best,
    };
    let loaded = models::load(&command.run, choice, &Compute::Cpu.device()?)?;
    let if_exists = match command.overwrite {
        true => IfExists::Overwrite,
        false => IfExists::Refuse,
    };
    models::save(&command.out, &loaded, if_exists)?;
    stdout::write(&format!("{}\n", command.out.display()))
}
