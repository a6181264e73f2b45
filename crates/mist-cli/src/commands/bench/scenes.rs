//! Scenes drawn per second on all threads.

use anyhow::Result;
use mist_data::{SceneKind, SceneSet, Split, render_range};

use super::report::Figure;
use super::timing;
use crate::cli::DataPlace;
use crate::commands::Say;
use crate::commands::data::open_digits;

const SCENES_PER_ROUND: u64 = 4_000;

/// Draws glyph scenes, and hard scenes where the digits are here.
pub fn measure(place: &DataPlace, rounds: u16, say: Say) -> Result<Vec<Figure>> {
    let mut figures = vec![rate("scenes_glyphs", SceneKind::Glyphs, None, rounds)?];
    match open_digits(place) {
        Ok(digits) => {
            figures.push(rate("scenes_hard", SceneKind::Hard, Some(digits), rounds)?);
        }
        Err(error) if place.data.is_some() => return Err(error),
        Err(error) => say.line(format_args!("skipped: scenes_hard, because {error:#}")),
    }
    Ok(figures)
}

fn rate(
    name: &'static str,
    kind: SceneKind,
    digits: Option<std::sync::Arc<mist_data::Digits>>,
    rounds: u16,
) -> Result<Figure> {
    let set = SceneSet::new(kind, 0, Split::Train, digits)?;
    let secs = timing::median_secs(rounds, || {
        std::hint::black_box(render_range(&set, 0..SCENES_PER_ROUND));
        Ok(())
    })?;
    Ok(Figure {
        name,
        value: SCENES_PER_ROUND as f64 / secs,
        unit: "scenes/s",
    })
}
