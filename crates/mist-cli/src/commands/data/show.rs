//! `mist data show`

use std::path::Path;

use mist_data::{Catalog, write_png};
use mist_lab::{Result, sheets};

use crate::cli::DatasetPart;
use crate::console::Console;
use crate::stdout;

/// How the sheet is laid out.
pub struct Layout {
    pub count: u64,
    pub columns: usize,
    pub zoom: usize,
}

/// Writes the sheet and prints its path.
pub fn run(part: &DatasetPart, out: &Path, layout: Layout, console: &Console) -> Result<()> {
    let catalog = Catalog::new(part.place.data.as_deref());
    let dataset = catalog.open(&part.dataset, part.seed, part.split)?;
    let Layout {
        count,
        columns,
        zoom,
    } = layout;
    let sheet = sheets::truths(dataset.as_ref(), count, columns, zoom)?;
    write_png(out, &sheet)?;
    console.line(format_args!(
        "drew {count} images of {} (seed {})",
        dataset.name(),
        part.seed
    ));
    stdout::write(&format!("{}\n", out.display()))
}
