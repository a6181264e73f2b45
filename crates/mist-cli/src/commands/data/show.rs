//! `mist data show`

use std::path::Path;

use mist_data::{Captions, contact_sheet, render_range, write_png};
use mist_lab::Result;

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
    let shown = render_range(&set, 0..layout.count);
    let captions = match set.classes() {
        1 => Captions::None,
        _ => Captions::Labels,
    };
    let sheet = contact_sheet(&shown, layout.columns, layout.zoom, captions)?;
    write_png(out, &sheet)?;
    console.line(format_args!(
        "drew {} scenes of kind {} (seed {}, {})",
        layout.count, scenes.kind, scenes.seed, scenes.split
    ));
    stdout::write(&format!("{}\n", out.display()))
}
