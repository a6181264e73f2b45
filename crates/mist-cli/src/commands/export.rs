//! `mist export`

use mist::device::Compute;
use mist_lab::Result;
use mist_lab::models::{self, Choice};

use crate::cli::Export;
use crate::stdout;

/// Writes a model directory and prints its path.
pub fn run(command: &Export) -> Result<()> {
    let choice = match command.last {
        true => Choice::Last,
        false => Choice::Best,
    };
    let loaded = models::load(&command.run, choice, &Compute::Cpu.device()?)?;
    models::save(&command.out, &loaded)?;
    stdout::write(&format!("{}\n", command.out.display()))
}
