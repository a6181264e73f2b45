//! Data sets: images by index, and what is known about them.

mod catalog;
mod in_memory;
mod scenes;
mod shuffled;

use std::fmt;
use std::ops::Range;

use mist_geometry::Truth;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

pub use catalog::Catalog;
pub use in_memory::InMemoryDataset;
pub use shuffled::ShuffledCounts;

use crate::error::{RequestError, Result};
use crate::gabor::GaborNoise;
use crate::image::{Image, ImageSize};
use crate::scene::count_labels;

/// Images by index, and what is known about them.
pub trait Dataset: Send + Sync + fmt::Debug {
    /// Name in logs and result files, such as `hard test`.
    fn name(&self) -> String;

    /// Number of items; `None` for a generated set without an end.
    fn len(&self) -> Option<u64>;

    /// Whether there is no item at all.
    fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// The item at an index: the same on each call, machine and thread. An index beyond the last item
    /// is an error.
    fn item(&self, index: u64) -> Result<Item>;

    /// What is known about the item at an index.
    fn known(&self, index: u64) -> Result<Known> {
        Ok(self.item(index)?.known)
    }

    /// Number of pictures that the items show, where it is finite: what is computed of each can be kept.
    fn views(&self) -> Option<u64> {
        self.len()
    }

    /// Which of these pictures the item at an index shows.
    fn view(&self, index: u64) -> Option<u64> {
        self.len().map(|len| index % len.max(1))
    }

    /// A picture, as the items that show it.
    fn view_item(&self, view: u64) -> Result<Item> {
        self.item(view)
    }

    /// Tells the pictures from those of other data sets; `None` where nothing is kept of them.
    fn fingerprint(&self) -> Option<String> {
        None
    }

    /// How much of its files could not be used, if anything.
    fn skipped(&self) -> Option<String> {
        None
    }

    /// What the classes are called, by label.
    fn class_names(&self) -> Vec<String>;

    /// Channels of every image: 1 (gray) or 3 (red, green, blue).
    fn channels(&self) -> usize;

    /// Size that all images share; `None` where they differ.
    fn image_size(&self) -> Option<ImageSize>;

    /// The most objects that an image holds, where that is known.
    fn max_instances(&self) -> Option<usize>;

    /// The procedural noise behind the images, where that is what they are: its kernel is the truth
    /// of the Gabor experiments.
    fn noise(&self) -> Option<&GaborNoise> {
        None
    }
}

/// An image and what is known about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// As many channels as [`Dataset::channels`] says.
    pub image: Image,
    /// Its annotation.
    pub known: Known,
}

/// What is known about an image; a training takes only what its method may see.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Known {
    /// How many instances each class has, by label: all that MIST trains on.
    pub class_counts: Option<Vec<usize>>,
    /// Where the instances are, for evaluation and for supervised baselines.
    pub truths: Option<Vec<Truth>>,
}

impl Known {
    /// Boxes, and the counts of `classes` classes that follow from them.
    pub fn from_truths(truths: Vec<Truth>, classes: usize) -> Self {
        let labels = truths.iter().map(|truth| truth.label);
        Self {
            class_counts: Some(count_labels(labels, classes)),
            truths: Some(truths),
        }
    }
}

/// Loads the items of a range on all threads, in order; of several errors, the first by index.
pub fn load_range(dataset: &dyn Dataset, range: Range<u64>) -> Result<Vec<Item>> {
    // Collecting into a result at once would return whichever error came first in time.
    let loaded: Vec<Result<Item>> = range
        .into_par_iter()
        .map(|index| dataset.item(index))
        .collect();
    loaded.into_iter().collect()
}

/// As [`load_range`] for pictures; see [`Dataset::views`].
pub fn load_views(dataset: &dyn Dataset, views: Range<u64>) -> Result<Vec<Item>> {
    let loaded: Vec<Result<Item>> = views
        .into_par_iter()
        .map(|view| dataset.view_item(view))
        .collect();
    loaded.into_iter().collect()
}

/// The error for an index beyond the end of a data set.
pub(crate) fn check_index(dataset: &dyn Dataset, index: u64) -> Result<()> {
    match dataset.len() {
        Some(len) if index >= len => Err(RequestError::NoSuchItem {
            dataset: dataset.name(),
            index,
            len,
        }
        .into()),
        _ => Ok(()),
    }
}
