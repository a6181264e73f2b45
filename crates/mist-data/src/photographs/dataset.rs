//! Photographs as a data set.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use mist_geometry::Truth;
use sha2::{Digest, Sha256};

use super::annotations::{self, Photo};
use super::files::Files;
use super::resample::resample;
use super::{INSTANCES, SIDE_PX, VOC_CLASSES, locate_data};
use crate::dataset::{Dataset, Item, Known, check_index};
use crate::error::{Result, bad_input};
use crate::folder::BACKGROUND;
use crate::image::{DecodeLimits, Image, ImageSize, decode_image};
use crate::random::SceneRng;
use crate::split::Split;

/// Crops of photographs with one or two objects, resized to squares.
///
/// Its counts are filled up with the background, so that every image has K of them. The training part has no end: all
/// images in a random order again and again, each mirrored or not at random. Its views are the images and their mirror
/// images.
#[derive(Debug)]
pub struct PhotoDataset {
    name: &'static str,
    files: Arc<Files>,
    photos: Vec<Photo>,
    seed: u64,
    split: Split,
    fingerprint: String,
    skipped: Option<String>,
    /// The order of the epoch that was asked for last.
    order: Mutex<Option<(u64, Vec<u32>)>>,
}

impl PhotoDataset {
    /// Opens one part of a data set by its name and that of its file, looked for as [`locate_data`] does.
    ///
    /// # Errors
    /// When they are not found, or their table is damaged.
    pub fn open(
        (name, file): (&'static str, &str),
        data: Option<&Path>,
        seed: u64,
        split: Split,
    ) -> Result<Self> {
        let root = locate_data(data, file)?;
        let files = Files::open(&root)?;
        let table = files.get("annotations.csv")?;
        let fingerprint = Sha256::digest(table)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        let text = std::str::from_utf8(table).map_err(|e| bad_input(&root, e.to_string()))?;
        let (mut photos, skipped) =
            annotations::read(text, &VOC_CLASSES).map_err(|reason| bad_input(&root, reason))?;
        photos.retain(|photo| {
            photo.split == split.name() && (1..=INSTANCES).contains(&photo.truths.len())
        });
        // Images that cannot be read are no reason to lose the others: they are found out once, here.
        let limits = DecodeLimits::default();
        let whole = photos.len();
        photos.retain(|photo| files.get(&photo.file).is_ok_and(|b| is_image(b, limits)));
        if photos.is_empty() {
            return Err(bad_input(&root, format!("it has no {split} images")));
        }
        let (images, boxes) = (whole - photos.len(), skipped.boxes);
        let found = format!(
            "skipped {images} damaged or missing images of the {split} part and {boxes} boxes outside of their image or without \
             an area"
        );
        Ok(Self {
            name,
            skipped: (images + boxes > 0).then_some(found),
            files: Arc::new(files),
            photos,
            seed,
            split,
            fingerprint,
            order: Mutex::default(),
        })
    }

    fn is_endless(&self) -> bool {
        self.split == Split::Train
    }

    /// Which image, and whether it is mirrored.
    fn image_and_mirror(&self, view: u64) -> (usize, bool) {
        match self.is_endless() {
            true => ((view / 2) as usize, view % 2 == 1),
            false => (view as usize, false),
        }
    }

    fn known_of(&self, view: u64) -> Known {
        let (index, mirrored) = self.image_and_mirror(view);
        let photo = &self.photos[index];
        let side = SIDE_PX as f32;
        let (x_factor, y_factor) = (side / photo.width_px, side / photo.height_px);
        let resized = photo.truths.iter().map(|truth| {
            let mut bounds = truth.bounds;
            (bounds.x_min_px, bounds.x_max_px) =
                (bounds.x_min_px * x_factor, bounds.x_max_px * x_factor);
            (bounds.y_min_px, bounds.y_max_px) =
                (bounds.y_min_px * y_factor, bounds.y_max_px * y_factor);
            if mirrored {
                (bounds.x_min_px, bounds.x_max_px) =
                    (side - bounds.x_max_px, side - bounds.x_min_px);
            }
            Truth {
                bounds,
                label: truth.label,
            }
        });
        let truths: Vec<Truth> = resized.collect();
        let mut known = Known::from_truths(truths, VOC_CLASSES.len() + 1);
        if let Some(counts) = &mut known.class_counts {
            counts[VOC_CLASSES.len()] = INSTANCES - photo.truths.len();
        }
        known
    }

    fn image_of(&self, view: u64) -> Result<Image> {
        let (index, mirrored) = self.image_and_mirror(view);
        let file = &self.photos[index].file;
        let bytes = self.files.get(file)?;
        let damaged = |reason: String| bad_input(&self.files.root, format!("{file} {reason}"));
        let image = decode_image(bytes, DecodeLimits::default()).map_err(damaged)?;
        let mut image = resample(&in_colour(image), SIDE_PX, SIDE_PX);
        if mirrored {
            image
                .pixels
                .chunks_exact_mut(SIDE_PX)
                .for_each(<[f32]>::reverse);
        }
        Ok(image)
    }
}

fn is_image(bytes: &[u8], limits: DecodeLimits) -> bool {
    // Decoding all would take minutes; what is damaged inside is an error of its item.
    !bytes.is_empty()
        && bytes.len() as u64 <= limits.max_bytes
        && bytes.starts_with(&[0xff, 0xd8])
        && bytes.ends_with(&[0xff, 0xd9])
}

fn in_colour(image: Image) -> Image {
    match image.channels {
        1 => Image {
            channels: 3,
            pixels: image.pixels.repeat(3),
            ..image
        },
        _ => image,
    }
}

impl Dataset for PhotoDataset {
    fn name(&self) -> String {
        format!("{} {}", self.name, self.split)
    }

    fn len(&self) -> Option<u64> {
        (!self.is_endless()).then_some(self.photos.len() as u64)
    }

    fn item(&self, index: u64) -> Result<Item> {
        check_index(self, index)?;
        self.view_item(self.view(index).unwrap_or(index))
    }

    fn known(&self, index: u64) -> Result<Known> {
        check_index(self, index)?;
        Ok(self.known_of(self.view(index).unwrap_or(index)))
    }

    fn views(&self) -> Option<u64> {
        let images = self.photos.len() as u64;
        Some(if self.is_endless() {
            2 * images
        } else {
            images
        })
    }

    fn view(&self, index: u64) -> Option<u64> {
        if !self.is_endless() {
            return Some(index);
        }
        let images = self.photos.len() as u64;
        let (epoch, place) = (index / images, (index % images) as usize);
        let mut kept = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|(known, _)| *known != epoch) {
            let mut random = SceneRng::new("photographs order", self.seed, self.split, epoch);
            let mut order: Vec<u32> = (0..images as u32).collect();
            for last in (1..order.len()).rev() {
                order.swap(last, random.below(last + 1));
            }
            *kept = Some((epoch, order));
        }
        let image = kept.as_ref().map_or(0, |(_, order)| order[place]);
        let mut random = SceneRng::new("photographs mirror", self.seed, self.split, index);
        Some(2 * u64::from(image) + random.below(2) as u64)
    }

    fn view_item(&self, view: u64) -> Result<Item> {
        Ok(Item {
            image: self.image_of(view)?,
            known: self.known_of(view),
        })
    }

    fn fingerprint(&self) -> Option<String> {
        Some(format!("{} {} {SIDE_PX}", self.name(), self.fingerprint))
    }

    fn skipped(&self) -> Option<String> {
        self.skipped.clone()
    }

    fn class_names(&self) -> Vec<String> {
        class_names()
    }

    fn channels(&self) -> usize {
        3
    }

    fn image_size(&self) -> Option<ImageSize> {
        Some(ImageSize {
            width_px: SIDE_PX,
            height_px: SIDE_PX,
        })
    }

    fn max_instances(&self) -> Option<usize> {
        Some(INSTANCES)
    }
}

/// The classes of VOC and the background.
pub(crate) fn class_names() -> Vec<String> {
    let names = VOC_CLASSES.iter().chain([&BACKGROUND]);
    names.map(|&name| name.to_owned()).collect()
}
