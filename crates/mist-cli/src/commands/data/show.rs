//! `mist data show`

use std::path::Path;

use mist_data::{Dataset, write_png};
use mist_lab::{Result, sheets};

use crate::cli::Scenes;
use crate::console::Console;
use crate::stdout;

/// How the sheet is laid out.
pub struct Layout {
    pub count: u64,
    pub columns: usize,
    pub zoom: usize,
}

/// Writes the sheet and prints its path.
pub fn run(scenes: &Scenes, out: &Path, layout: Layout, console: &Console) -> Result<()> {
    let set = super::open(scenes)?;
    let sheet = sheets::truths(&set, layout.count, layout.columns, layout.zoom)?;
    write_png(out, &sheet)?;
    console.line(format_args!(
        "drew {} images of {} (seed {})",
        layout.count,
        set.name(),
        scenes.seed
    ));
    stdout::write(&format!("{}\n", out.display()))
}
