//! A folder of the user's own images as a data set.

mod background;
mod cache;
mod counts;
mod dataset;
mod files;
mod foreground;
mod otsu;
mod survey;
mod window;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub(crate) use counts::records;
pub use counts::{Counts, CountsError};
pub use dataset::FolderDataset;
pub use files::FolderFiles;
pub use foreground::Foreground;
pub use survey::{Survey, survey};

/// The name of data sets that are folders.
pub const FOLDER: &str = "folder";

/// What the class is called that stands for no object.
pub const BACKGROUND: &str = "background";

/// How a folder is learned from: what a recipe says of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageFolder {
    /// The folder; images are looked for at any depth.
    pub folder: PathBuf,
    /// A table of class counts (`file,class,count`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<PathBuf>,
    /// What the classes are called, by label; those of the table, and [`BACKGROUND`] where totals vary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// How objects differ from what is behind them.
    #[serde(default)]
    pub foreground: Foreground,
    /// The most objects in a whole image.
    pub instances: usize,
    /// Width and height of what one item shows: a crop, or a whole image in a frame.
    pub window_px: [usize; 2],
    /// SHA-256 of names and sizes of the usable files: a training is not resumed with others.
    pub contents: String,
}

impl ImageFolder {
    /// Whether items are whole images, as class counts need.
    pub fn is_counted(&self) -> bool {
        self.counts.is_some()
    }
}
