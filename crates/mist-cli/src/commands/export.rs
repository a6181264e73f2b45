//! `mist export`

use anyhow::Result;
use mist::device::Compute;

use crate::cli::Export;
use crate::models::{self, Choice};
use crate::stdout;

/// Writes a model directory and prints its path.
pub fn run(command: &Export) -> Result<()> {
    let choice = if command.last {
        Choice::Last
    } else {
        Choice::Best
    };
    let loaded = models::load(&command.run, choice, &Compute::Cpu.device()?)?;
    models::save(&command.out, &loaded)?;
    stdout::write(&format!("{}\n", command.out.display()))
}
