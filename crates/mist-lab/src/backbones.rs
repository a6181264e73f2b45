//! Backbones from files of weights.

#[cfg(feature = "pth")]
mod pth;

use std::fs;
use std::path::Path;

use mist::backbone::{Architecture, Backbone, BackboneConfig, NamedWeights};
use mist_data::{PackagedWeights, locate_file};
use sha2::{Digest, Sha256};

#[cfg(not(feature = "pth"))]
use crate::error::Error;
use crate::error::{AtPath, Context, Result};
#[cfg(feature = "pth")]
use pth::of_pytorch;

/// The folder of weights where data is.
const FOLDER: &str = "weights";

/// A backbone with its weights, and the SHA-256 of their file.
///
/// # Errors
/// When the file is not found, or is damaged or of another network.
pub fn load(config: &BackboneConfig, data: Option<&Path>) -> Result<(Backbone, String)> {
    let path = locate_file(data, FOLDER, &config.weights).or_else(|missing| {
        let fetched = match config.architecture {
            Architecture::MobileNetV2 => PackagedWeights::MobileNetV2.file_name(),
            Architecture::ResNet18 | Architecture::ResNet34 => return Err(missing),
        };
        locate_file(data, FOLDER, fetched).map_err(|_| missing)
    })?;
    let bytes = fs::read(&path).at("read", &path)?;
    let sha256 = Sha256::digest(&bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    let is_pytorch = path
        .extension()
        .is_some_and(|extension| extension == "pth" || extension == "pt");
    let weights = match is_pytorch {
        true => of_pytorch(&path)?,
        false => NamedWeights::from_safetensors(&bytes).context(path.display())?,
    };
    let backbone = Backbone::new(config.architecture, &weights).context(path.display())?;
    Ok((backbone, sha256))
}

#[cfg(not(feature = "pth"))]
fn of_pytorch(path: &Path) -> Result<NamedWeights> {
    let reason = "this program was built without `--features pth`: convert the file to safetensors, or build it with it";
    Err(Error::input(path, reason))
}
