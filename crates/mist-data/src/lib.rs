//! Scenes, data sets and image files for MIST.
//!
//! Every scene of section 4 of the paper ("Results and evaluation") is a pure function of
//! its kind, a seed, a split and an index: [`SceneSet::scene`] returns the same bytes on each run,
//! in any order and on any number of threads, so that a training set needs no files at all.
//!
//! - A [`Dataset`] gives images by index with what is known about them; a [`Catalog`] opens one by
//!   name and [`load_range`] loads many items on all threads.
//! - A [`FolderDataset`] is the user's own folder, with class counts from a table where there is one.
//! - [`SceneKind`] names the scene families; [`SceneSet`] draws them; [`render_range`] draws many.
//! - [`Digits`] holds MNIST, found by [`locate`] and downloaded by [`fetch_mnist`].
//! - [`PackagedImages`] are real pictures that Python packages carry.
//! - [`read_image`] reads image files of many formats, [`write_png`] writes them.
//! - [`generate`] writes a set as PNG files with COCO annotations.

#![forbid(unsafe_code)]

mod annotations;
mod bridson;
mod clients;
mod coco;
mod dataset;
mod digit_scene;
mod error;
mod folder;
mod gabor;
mod generate;
mod glyphs;
mod image;
mod kind;
mod layout;
mod mnist;
mod packaged;
mod photographs;
mod random;
mod scene;
mod set;
mod split;
mod staging;
mod surroundings;

pub use self::image::{
    DecodeLimits, Image, ImageSize, encode_png, has_image_extension, read_image, write_png,
};
pub use annotations::Annotations;
pub use clients::Clients;
pub use dataset::{
    Catalog, Dataset, InMemoryDataset, Item, Known, ShuffledCounts, load_range, load_views,
};
pub use error::{
    Attempt, Cancelled, Error, FetchError, InputError, RequestError, Result, SystemError,
};
pub use folder::{
    BACKGROUND, Counts, CountsError, FOLDER, FolderDataset, FolderFiles, Foreground, ImageFolder,
    Survey, survey,
};
pub use gabor::GaborNoise;
pub use generate::{Generated, IfExists, generate};
pub use kind::{SceneKind, UnknownKind};
pub use mnist::{
    Digit, Digits, Fetched, cache_root, default_destination, fetch_mnist, fetch_mnist_with, locate,
};
pub use packaged::{PackagedImages, PackagedWeights};
pub use photographs::{
    PhotoDataset, PrepareRequest, Prepared, VOC_CLASSES, VOC_COCO, VOC_CROPS, locate_data,
    locate_file, prepare,
};
pub use scene::{Instance, Scene};
pub use set::{InstanceCount, SceneSet, render_range};
pub use split::Split;
