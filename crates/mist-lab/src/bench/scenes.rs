//! Scenes drawn per second on all threads.

use std::path::Path;
use std::sync::Arc;

use mist_data::{Digits, SceneKind, SceneSet, Split, render_range};

use super::report::Figure;
use super::timing;
use crate::batches::open_digits;
use crate::error::Result;
use crate::observer::Observer;

const SCENES_PER_ROUND: u64 = 4_000;

/// Draws glyph scenes, and hard scenes where the digits are here.
pub fn measure(
    data: Option<&Path>,
    rounds: u16,
    observer: &mut dyn Observer,
) -> Result<Vec<Figure>> {
    let mut figures = vec![rate("scenes_glyphs", SceneKind::Glyphs, None, rounds)?];
    match open_digits(data) {
        Ok(digits) => {
            figures.push(rate("scenes_hard", SceneKind::Hard, Some(digits), rounds)?);
        }
        Err(error) if data.is_some() => return Err(error),
        Err(error) => observer.message(&format!("skipped: scenes_hard, because {error}")),
    }
    Ok(figures)
}

fn rate(
    name: &'static str,
    kind: SceneKind,
    digits: Option<Arc<Digits>>,
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
