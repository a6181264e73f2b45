//! `mist data`: what there is to learn from.

mod fetch;
mod generate;
mod list;
mod show;

use mist_data::{Catalog, SceneSet};
use mist_lab::Result;

use crate::cli::{Data, Scenes};
use crate::console::Console;

/// Runs one of the data verbs.
pub fn run(command: Data, console: &Console) -> Result<()> {
    match command {
        Data::List { place } => list::run(&place),
        Data::Fetch { name: _, out } => fetch::run(out, console),
        Data::Generate {
            scenes,
            out,
            count,
            overwrite,
        } => generate::run(&scenes, &out, count, overwrite, console),
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
            show::run(&scenes, &out, layout, console)
        }
    }
}

/// The set that the command line names, with the digits if it needs them.
fn open(scenes: &Scenes) -> Result<SceneSet> {
    let catalog = Catalog::new(scenes.place.data.as_deref());
    Ok(catalog.scenes(scenes.kind, scenes.seed, scenes.split)?)
}
