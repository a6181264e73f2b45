//! `mist report`

use mist_lab::Result;
use mist_lab::report::{self, ReportOptions};

use crate::cli::Report;
use crate::console::Console;
use crate::stdout;

/// Writes the page and prints its path.
pub fn run(command: &Report, console: &mut Console) -> Result<()> {
    let options = ReportOptions {
        run: command.run.clone(),
        out: command.out.clone(),
        data: command.place.data.clone(),
    };
    let path = report::write(&options, console)?;
    console.line("open it in a browser; it needs nothing else");
    stdout::write(&format!("{}\n", path.display()))
}
