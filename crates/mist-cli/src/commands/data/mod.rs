//! `mist data`: what there is to learn from.

pub mod fetch;
mod generate;
mod list;
mod prepare;
mod show;

use mist_lab::Result;

use crate::cli::Data;
use crate::console::Console;

/// Runs one of the data verbs.
pub fn run(command: Data, console: &Console) -> Result<()> {
    match command {
        Data::List { place } => list::run(&place),
        Data::Fetch { name, out } => fetch::run(name, out, console),
        Data::Prepare {
            name,
            voc,
            coco,
            seed,
            out,
        } => prepare::run(
            &name,
            voc.into_iter().chain(coco).collect(),
            seed,
            out,
            console,
        ),
        Data::Generate {
            part,
            out,
            count,
            overwrite,
        } => generate::run(&part, &out, count, overwrite, console),
        Data::Show {
            part,
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
            show::run(&part, &out, layout, console)
        }
    }
}
