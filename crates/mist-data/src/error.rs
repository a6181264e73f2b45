//! Errors, grouped by whose fault they are.

use std::io;
use std::path::{Path, PathBuf};

use crate::kind::{SceneKind, UnknownKind};

/// What every fallible function of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any failure of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller asked for something that cannot be.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// A file holds something else than it should.
    #[error(transparent)]
    Input(#[from] InputError),
    /// No client could download the data.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The operating system refused.
    #[error(transparent)]
    System(#[from] SystemError),
    /// The caller asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Work that the caller stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stopped before the end; nothing was written")]
pub struct Cancelled;

/// A request that no input could satisfy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The scene kind has no such name.
    #[error(transparent)]
    UnknownKind(#[from] UnknownKind),
    /// The scene kind is drawn with MNIST digits and none were given.
    #[error("scenes of kind `{0}` need the MNIST digits: run `mist data fetch mnist`")]
    DigitsNeeded(SceneKind),
    /// A parameter lies outside its range.
    #[error("{name} is {value}, but must be {expected}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// What was asked for.
        value: String,
        /// What would do.
        expected: &'static str,
    },
    /// A data set ends before an index.
    #[error("there is no item {index} in `{dataset}`, which has {len}")]
    NoSuchItem {
        /// The data set.
        dataset: String,
        /// What was asked for.
        index: u64,
        /// How many there are.
        len: u64,
    },
    /// A folder of images is missing.
    #[error("{} is not a folder of images", .0.display())]
    NotAFolder(PathBuf),
    /// A folder holds no images.
    #[error("there are no images in {}; PNG, JPEG, TIFF, WebP, BMP and PNM are read", .0.display())]
    NoImages(PathBuf),
    /// MNIST is in none of the places looked at.
    #[error(
        "MNIST was not found in {}; run `mist data fetch mnist`, or name the directory that holds it by `--data` or `$MIST_DATA`",
        list_paths(.looked_in)
    )]
    MnistNotFound {
        /// Every directory looked at, in order.
        looked_in: Vec<PathBuf>,
    },
    /// A file or data set is in none of the places looked at.
    #[error(
        "`{name}` was not found; looked for {}; name the directory that holds it by `--data` or `$MIST_DATA`",
        list_paths(.looked_in)
    )]
    DataNotFound {
        /// Its name.
        name: String,
        /// Every path looked at, in order.
        looked_in: Vec<PathBuf>,
    },
    /// The output directory exists and is not empty.
    #[error("{} exists and is not empty; ask to overwrite it, or name another directory", .0.display())]
    OutputExists(PathBuf),
    /// Overwriting was asked for, but the directory holds something else than a generated set.
    #[error(
        "{} holds what was not generated here ({found}), so it is not overwritten; name another directory",
        .path.display()
    )]
    NotOurs {
        /// The output directory.
        path: PathBuf,
        /// A file that does not belong to a generated set.
        found: String,
    },
}

/// A file whose contents are not what they should be.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", .path.display())]
pub struct InputError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

/// A call to the operating system that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", .path.display())]
pub struct SystemError {
    /// What was tried, as a verb.
    pub action: &'static str,
    /// On which path.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// One client's failed download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The client, with its source where it has several.
    pub client: String,
    /// Why it failed.
    pub reason: String,
}

/// Every client failed.
#[derive(Debug, thiserror::Error)]
#[error("{data} could not be fetched:{}", list_attempts(.attempts))]
pub struct FetchError {
    /// What was to be fetched.
    pub data: &'static str,
    /// What was tried, in order.
    pub attempts: Vec<Attempt>,
}

fn list_paths(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    names.join(", ")
}

fn list_attempts(attempts: &[Attempt]) -> String {
    attempts
        .iter()
        .map(|attempt| format!("\n  {}: {}", attempt.client, attempt.reason))
        .collect()
}

pub(crate) fn bad_input(path: &Path, reason: impl Into<String>) -> Error {
    Error::Input(InputError {
        path: path.to_owned(),
        reason: reason.into(),
    })
}

/// Gives an I/O error the path it happened on.
pub(crate) trait AtPath<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T>;
}

impl<T> AtPath<T> for io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| {
            Error::System(SystemError {
                action,
                path: path.to_owned(),
                source,
            })
        })
    }
}
