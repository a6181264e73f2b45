//! `mist data`: what there is to learn from.

mod fetch;
mod generate;
mod list;
mod show;

use std::sync::Arc;

use anyhow::Result;
use mist_data::{Digits, SceneSet, locate};

use super::Say;
use crate::cli::{Data, DataPlace, Scenes};

/// Runs one of the data verbs.
pub fn run(command: Data, say: Say) -> Result<()> {
    match command {
        Data::List { place } => list::run(&place),
        Data::Fetch { name: _, out } => fetch::run(out, say),
        Data::Generate {
            scenes,
            out,
            count,
            overwrite,
        } => generate::run(&scenes, &out, count, overwrite, say),
        Data::Show {
            scenes,
            out,
            count,
            columns,
            zoom,
        } => {
            let layout = show::Layout {
                count,
                columns: columns.into(),
                zoom: zoom.into(),
            };
            show::run(&scenes, &out, layout, say)
        }
    }
}

/// The set that the command line names, with the digits if it needs them.
fn open(scenes: &Scenes) -> Result<SceneSet> {
    let digits = if scenes.kind.needs_digits() {
        Some(open_digits(&scenes.place)?)
    } else {
        None
    };
    Ok(SceneSet::new(
        scenes.kind,
        scenes.seed,
        scenes.split,
        digits,
    )?)
}

/// The MNIST digits, from wherever they are.
pub(super) fn open_digits(place: &DataPlace) -> Result<Arc<Digits>> {
    let directory = locate(place.data.as_deref())?;
    Ok(Arc::new(Digits::open(&directory)?))
}
