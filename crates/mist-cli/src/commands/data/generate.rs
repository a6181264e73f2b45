//! `mist data generate`

use std::path::Path;

use anyhow::Result;
use mist_data::{IfExists, generate};

use crate::cli::Scenes;
use crate::commands::Say;
use crate::run::signals::Signals;
use crate::stdout;

/// Writes the scenes and prints the directory.
pub fn run(scenes: &Scenes, out: &Path, count: u64, overwrite: bool, say: Say) -> Result<()> {
    let set = super::open(scenes)?;
    let if_exists = if overwrite {
        IfExists::Overwrite
    } else {
        IfExists::Refuse
    };
    let signals = Signals::listen()?;
    let written = generate(&set, count, out, if_exists, &|| signals.seen().is_some())?;
    say.line(format_args!(
        "wrote {} scenes with {} boxes",
        written.images, written.instances
    ));
    stdout::write(&format!("{}\n", out.display()))
}
