//! Detection in image files of any number, and its results as other programs want them.
//!
//! [`detect`] lists the images ([`list_images`]), finds objects in them batch by batch, and hands each
//! result on, in order of the inputs, before the next batch is read: memory does not grow with the
//! number of files. Several machines can share the work ([`Shard`]); [`merge`] puts their parts
//! together to what one would have written, byte for byte.

mod batches;
mod collect;
mod contrast;
mod formats;
mod inputs;
mod instances;
mod large;
mod names;
mod output;
mod pictures;
mod places;
mod request;
mod shards;
mod stream;

use mist::geometry::Detection;
use serde::{Deserialize, Serialize};

pub(crate) use collect::find_in_files;
pub use formats::DetectionFormat;
pub use inputs::{Inputs, list_images, read_list};
pub use instances::Instances;
pub use names::path_text;
pub use request::{DetectRequest, detect};
pub use shards::{MergeRequest, Shard, ShardChoice, merge};

/// What was found in one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DetectedImage {
    /// Its place among all inputs, from 0.
    pub index: u64,
    /// Its path as it was given; see [`path_text`].
    pub file: String,
    /// What files about it are called, without an extension; no two inputs share it.
    pub stem: String,
    /// Width of the image.
    pub width_px: usize,
    /// Height of the image.
    pub height_px: usize,
    /// 1 (gray) or 3.
    pub channels: usize,
    /// What was found, strongest first.
    pub detections: Vec<Detection>,
}

/// How a detection in files ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Images that were read and searched.
    pub images: u64,
    /// Objects found in them.
    pub objects: u64,
    /// Files and folders that could not be read or searched; each was told to the observer.
    pub failed: u64,
}
