//! The data set of a folder.

use std::sync::Arc;

use super::cache::ImageCache;
use super::{BACKGROUND, Counts, FolderFiles, ImageFolder, window};
use crate::dataset::{Dataset, Item, Known, check_index};
use crate::error::{Error, InputError, RequestError, Result};
use crate::image::{DecodeLimits, Image, ImageSize, read_image};
use crate::random::SceneRng;
use crate::split::Split;

/// Decoded images that are kept in memory.
const CACHE_BYTES: usize = 512 << 20;

/// Images of a folder: random crops where nothing is counted, else whole images in frames of one size.
///
/// The training part has no end: item `index` is a random crop of a random image, a pure function of seed and index. The
/// held-out part has one item per image.
#[derive(Debug)]
pub struct FolderDataset {
    folder: ImageFolder,
    files: FolderFiles,
    /// Files of this part.
    part: Vec<usize>,
    /// Class counts of each file of the part.
    counts: Option<Vec<Vec<usize>>>,
    seed: u64,
    split: Split,
    channels: usize,
    cache: ImageCache,
}

impl FolderDataset {
    /// Opens one part of a folder; both held-out splits are the same.
    ///
    /// # Errors
    /// When the folder is not the one that the settings were made for, or its table cannot be read.
    pub fn open(folder: &ImageFolder, seed: u64, split: Split) -> Result<Self> {
        let files = FolderFiles::open(&folder.folder)?;
        if files.contents() != folder.contents {
            return Err(Error::Input(InputError {
                path: folder.folder.clone(),
                reason: "its images are not those that this training began with; \
                         bring them back, or begin another training"
                    .to_owned(),
            }));
        }
        let table = folder.counts.as_deref().map(Counts::read).transpose()?;
        let usable: Vec<usize> = (0..files.len())
            .filter(|&index| {
                let counted = |table: &Counts| table.of(&files.name(index)).is_some();
                table.as_ref().is_none_or(counted)
            })
            .collect();
        let (trained, held_out) = files.divide(&usable);
        let part = match split {
            Split::Train => trained,
            Split::Valid | Split::Test => held_out,
        };
        let counts = match &table {
            None => None,
            Some(table) => {
                let counts = part
                    .iter()
                    .map(|&index| folder.counts_of(table, &files.name(index)));
                Some(counts.collect::<Result<_>>()?)
            }
        };
        Ok(Self {
            channels: match files.are_coloured() {
                true => 3,
                false => 1,
            },
            folder: folder.clone(),
            files,
            part,
            counts,
            seed: match split {
                Split::Train => seed,
                Split::Valid | Split::Test => 0,
            },
            split,
            cache: ImageCache::new(CACHE_BYTES),
        })
    }

    /// Names of the files of this part, below the folder.
    pub fn file_names(&self) -> Vec<String> {
        self.part
            .iter()
            .map(|&index| self.files.name(index))
            .collect()
    }

    fn image(&self, file: usize) -> Result<Arc<Image>> {
        self.cache.get(file, || {
            let image = read_image(&self.files.path(file), DecodeLimits::default())?;
            let image = self.folder.foreground.normalise(image);
            Ok(with_channels(image, self.channels))
        })
    }
}

impl ImageFolder {
    /// The counts of a file by label, with the unused rest as background where there is such a class.
    fn counts_of(&self, table: &Counts, file: &str) -> Result<Vec<usize>> {
        let counted = table.of(file).unwrap_or_default();
        let of_class = |class: &String| {
            let label = table.classes.iter().position(|name| name == class);
            label.and_then(|label| counted.get(label)).copied()
        };
        let total: usize = counted.iter().sum();
        let named: usize = self.classes.iter().filter_map(of_class).sum();
        if named != total || total > self.instances {
            return Err(Error::Input(InputError {
                path: self.counts.clone().unwrap_or_default(),
                reason: format!(
                    "is not the table that this training began with: other objects are counted in `{file}`"
                ),
            }));
        }
        let rest = self.instances - total;
        let counts = self.classes.iter().map(|class| match class.as_str() {
            BACKGROUND => rest,
            _ => of_class(class).unwrap_or(0),
        });
        Ok(counts.collect())
    }
}

impl Dataset for FolderDataset {
    fn name(&self) -> String {
        format!("{} {}", self.folder.folder.display(), self.split)
    }

    fn len(&self) -> Option<u64> {
        match self.split {
            Split::Train if !self.part.is_empty() => None,
            _ => Some(self.part.len() as u64),
        }
    }

    fn item(&self, index: u64) -> Result<Item> {
        check_index(self, index)?;
        let mut random = SceneRng::new("folder", self.seed, self.split, index);
        let place = match self.split {
            Split::Train => random.below(self.part.len()),
            Split::Valid | Split::Test => index as usize,
        };
        let image = self.image(self.part[place])?;
        let size = self.folder.window_px;
        let mut first = |window: usize, side: usize| -> isize {
            let (window, side) = (window as isize, side as isize);
            match self.folder.is_counted() {
                true => (side - window) / 2,
                // A window that is larger than the image shows it anywhere.
                false => {
                    let (low, high) = ((side - window).min(0), (side - window).max(0));
                    low + random.below((high - low + 1) as usize) as isize
                }
            }
        };
        let corner = (
            first(size[0], image.width_px),
            first(size[1], image.height_px),
        );
        let outside = self.folder.foreground.surroundings(&image);
        Ok(Item {
            image: window::cut(&image, corner, size, outside),
            known: Known {
                class_counts: self.counts.as_ref().map(|counts| counts[place].clone()),
                truths: None,
            },
        })
    }

    fn class_names(&self) -> Vec<String> {
        self.folder.class_names()
    }

    fn channels(&self) -> usize {
        self.channels
    }

    fn image_size(&self) -> Option<ImageSize> {
        let [width_px, height_px] = self.folder.window_px;
        Some(ImageSize {
            width_px,
            height_px,
        })
    }

    fn max_instances(&self) -> Option<usize> {
        let most = self.folder.instances;
        Some(match self.folder.is_counted() {
            true => most,
            false => self.files.instances_in_window(most, self.folder.window_px),
        })
    }
}

impl ImageFolder {
    /// What the classes are called, by label; one of all objects where nothing is counted.
    pub fn class_names(&self) -> Vec<String> {
        match self.is_counted() {
            true => self.classes.clone(),
            false => vec!["object".to_owned()],
        }
    }

    /// Refuses settings that no folder could be learned from.
    ///
    /// # Errors
    /// When a size or a number is out of range.
    pub fn check(&self) -> Result<()> {
        let side = |side: usize| (1..=65_535).contains(&side);
        let problem = if !self.window_px.into_iter().all(side) {
            Some(("images.window_px", "two sides from 1 to 65535"))
        } else if self.instances == 0 {
            Some(("images.instances", "at least 1"))
        } else if self.is_counted() == self.classes.is_empty() {
            Some(("images.classes", "the classes of `images.counts`"))
        } else {
            None
        };
        match problem {
            None => Ok(()),
            Some((name, expected)) => Err(RequestError::OutOfRange {
                name,
                value: "impossible".to_owned(),
                expected,
            }
            .into()),
        }
    }
}

/// Gray is repeated, colours are averaged.
fn with_channels(image: Image, channels: usize) -> Image {
    if image.channels == channels {
        return image;
    }
    let gray = super::foreground::gray_values(&image);
    Image {
        channels,
        pixels: gray.repeat(channels),
        ..image
    }
}
