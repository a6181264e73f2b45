//! Scenes drawn per second on all threads.

use std::path::Path;

use mist_data::{Catalog, Dataset, Split, load_range};

use super::report::Figure;
use super::timing;
use crate::error::Result;
use crate::observer::Observer;

const SCENES_PER_ROUND: u64 = 4_000;

/// Draws glyph scenes, and hard scenes where the digits are here.
pub fn measure(
    data: Option<&Path>,
    rounds: u16,
    observer: &mut dyn Observer,
) -> Result<Vec<Figure>> {
    let catalog = Catalog::new(data);
    let glyphs = catalog.open("glyphs", 0, Split::Train)?;
    let mut figures = vec![rate("scenes_glyphs", glyphs.as_ref(), rounds)?];
    match catalog.open("hard", 0, Split::Train) {
        Ok(hard) => figures.push(rate("scenes_hard", hard.as_ref(), rounds)?),
        Err(error) if data.is_some() => return Err(error.into()),
        Err(error) => observer.message(&format!("skipped: scenes_hard, because {error}")),
    }
    Ok(figures)
}

fn rate(name: &'static str, dataset: &dyn Dataset, rounds: u16) -> Result<Figure> {
    let secs = timing::median_secs(rounds, || {
        std::hint::black_box(load_range(dataset, 0..SCENES_PER_ROUND)?);
        Ok(())
    })?;
    Ok(Figure {
        name,
        value: SCENES_PER_ROUND as f64 / secs,
        unit: "scenes/s",
    })
}
