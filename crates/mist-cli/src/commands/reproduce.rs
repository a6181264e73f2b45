//! `mist reproduce`: the paper's tables and figures, ours beside its.

use mist_lab::reproduce::{FigureOptions, ReproduceOptions, run_missing, tables, write_figures};
use mist_lab::{Error, Result};

use crate::cli::Reproduce;
use crate::console::Console;
use crate::signals::Signals;
use crate::stdout;

/// Runs what is missing, then writes figures and prints tables.
pub fn run(command: &Reproduce, console: &mut Console) -> Result<()> {
    let work = command.work;
    if command.recorded && !command.results.is_dir() {
        return Err(Error::Usage(format!(
            "{} is no directory, so that nothing is recorded there",
            command.results.display()
        )));
    }
    if !command.recorded {
        command.precision.select()?;
        let signals = Signals::listen()?;
        let options = ReproduceOptions {
            results: command.results.clone(),
            figures: command.figures.clone(),
            count: command.count,
            budget: command.budget,
            device: command.device.device()?,
            data: command.place.data.clone(),
            stop: &|| signals.seen(),
        };
        run_missing(work, &options, console)?;
    }
    let options = FigureOptions {
        results: command.results.clone(),
        figures: command.figures.clone(),
        device: command.device.device()?,
        data: command.place.data.clone(),
    };
    for path in write_figures(work, &options, console)? {
        console.line(format_args!("wrote {}", path.display()));
    }
    stdout::write(&tables(work, &command.results)?)
}
