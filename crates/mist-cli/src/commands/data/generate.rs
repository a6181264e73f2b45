//! `mist data generate`

use std::path::Path;

use mist_data::{IfExists, generate};
use mist_lab::{Error, Result};

use crate::cli::Scenes;
use crate::console::Console;
use crate::signals::Signals;
use crate::stdout;

/// Writes the scenes and prints the directory.
pub fn run(
    scenes: &Scenes,
    out: &Path,
    count: u64,
    overwrite: bool,
    console: &Console,
) -> Result<()> {
    let set = super::open(scenes)?;
    let if_exists = if overwrite {
        IfExists::Overwrite
    } else {
        IfExists::Refuse
    };
    let signals = Signals::listen()?;
    let stopped = || signals.seen().is_some();
    let written = generate(&set, count, out, if_exists, &stopped);
    let written = written.map_err(|error| match signals.seen() {
        Some(signal) => Error::Stopped(signal),
        None => error.into(),
    })?;
    console.line(format_args!(
        "wrote {} scenes with {} boxes",
        written.images, written.instances
    ));
    stdout::write(&format!("{}\n", out.display()))
}
