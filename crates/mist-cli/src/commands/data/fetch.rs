//! `mist data fetch mnist`

use std::path::PathBuf;

use mist_data::{
    Digits, Error as DataError, Fetched, RequestError, default_destination, fetch_mnist, locate,
};
use mist_lab::{Error, Result};

use crate::console::Console;
use crate::stdout;

/// Fetches MNIST unless it is here already, and prints where it is.
pub fn run(out: Option<PathBuf>, console: &Console) -> Result<()> {
    let directory = match out {
        Some(directory) => fetch_into(directory, console)?,
        None => match locate(None) {
            Ok(directory) => {
                Digits::open(&directory)?;
                console.line("MNIST is here already and its sums are right");
                directory
            }
            Err(DataError::Request(RequestError::MnistNotFound { .. })) => {
                let cache = default_destination().ok_or_else(|| {
                    let reason = "there is no home directory to cache data in: name one with --out";
                    Error::Usage(reason.to_owned())
                })?;
                fetch_into(cache, console)?
            }
            Err(error) => return Err(error.into()),
        },
    };
    stdout::write(&format!("{}\n", directory.display()))
}

fn fetch_into(directory: PathBuf, console: &Console) -> Result<PathBuf> {
    match fetch_mnist(&directory)? {
        Fetched::AlreadyThere => console.line("MNIST is here already and its sums are right"),
        Fetched::Downloaded { client } => {
            console.line(format_args!("fetched MNIST with {client}, sums checked"))
        }
    }
    Ok(directory)
}
