//! `mist data fetch mnist`

use std::path::PathBuf;

use anyhow::{Context, Result};
use mist_data::{Fetched, default_destination, fetch_mnist, locate};

use crate::commands::Say;
use crate::stdout;

/// Fetches MNIST unless it is here already, and prints where it is.
pub fn run(out: Option<PathBuf>, say: Say) -> Result<()> {
    let directory = match out {
        Some(directory) => fetch_into(directory, say)?,
        None => match locate(None) {
            Ok(directory) => {
                mist_data::Digits::open(&directory)?;
                say.line("MNIST is here already and its sums are right");
                directory
            }
            Err(_) => {
                let cache = default_destination()
                    .context("there is no home directory to cache data in: name one with --out")?;
                fetch_into(cache, say)?
            }
        },
    };
    stdout::write(&format!("{}\n", directory.display()))
}

fn fetch_into(directory: PathBuf, say: Say) -> Result<PathBuf> {
    match fetch_mnist(&directory)? {
        Fetched::AlreadyThere => say.line("MNIST is here already and its sums are right"),
        Fetched::Downloaded { client } => {
            say.line(format_args!("fetched MNIST with {client}, sums checked"))
        }
    }
    Ok(directory)
}
