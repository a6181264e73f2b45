//! Pictures of what a model finds, for people to look at.

use burn::tensor::{Device, Tensor};
use mist::finder::Finder;
use mist::geometry::{Detection, PixelBox, Truth};
use mist::metrics::{ImageResult, LabelRule, centre_pairs};
use mist_data::{Dataset, Image, Item};

use crate::batches;
use crate::draw::{Colour, Mark, Tile, below, beside, contact_sheet, strip};
use crate::error::Result;

/// Images on a sheet of detections, how many in a row, and how much they are enlarged.
const SHOWN: u64 = 12;
const COLUMNS: usize = 4;
const ZOOM: usize = 3;
/// Photographs on a sheet that tells right from wrong, and how many in a row.
pub const JUDGED: u64 = 24;
const JUDGED_COLUMNS: usize = 6;
/// The same of a sheet of patches.
const PATCH_IMAGES: u64 = 4;
const PATCH_COLUMNS: usize = 2;
const PATCH_ZOOM: usize = 2;

/// Whether captions have scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scores {
    /// Name and score.
    Shown,
    /// The name alone: small pictures have no room for more.
    Hidden,
}

/// Detections as marks with the names of their classes; without names, boxes alone.
pub fn marks(detections: &[Detection], names: &[String], scores: Scores) -> Vec<Mark> {
    let mark = |detection: &Detection| {
        let name = names.get(detection.label).map_or("", String::as_str);
        let caption = match scores {
            Scores::Shown => format!("{name} {:.2}", detection.score),
            Scores::Hidden => name.to_owned(),
        };
        labelled(detection.bounds, detection.label, caption.trim())
    };
    detections.iter().map(mark).collect()
}

/// True boxes as marks.
pub fn truth_marks(truths: &[Truth], names: &[String]) -> Vec<Mark> {
    let mark = |truth: &Truth| {
        let name = names.get(truth.label).map_or("", String::as_str);
        labelled(truth.bounds, truth.label, name)
    };
    truths.iter().map(mark).collect()
}

fn labelled(bounds: PixelBox, label: usize, caption: &str) -> Mark {
    Mark {
        bounds,
        caption: caption.to_owned(),
        colour: Colour::of_class(label),
    }
}

/// The first images of a data set with their true boxes.
///
/// # Errors
/// When an image cannot be read, or the sheet would be too large.
pub fn truths(dataset: &dyn Dataset, count: u64, columns: usize, zoom: usize) -> Result<Image> {
    let count = dataset.len().map_or(count, |length| count.min(length));
    let items = mist_data::load_range(dataset, 0..count)?;
    let names = class_captions(dataset);
    let tile = |item: &'_ Item| {
        let truths = item.known.truths.as_deref().unwrap_or_default();
        truth_marks(truths, &names)
    };
    let tiles: Vec<Tile> = items
        .iter()
        .map(|item| Tile {
            image: &item.image,
            marks: tile(item),
        })
        .collect();
    Ok(contact_sheet(&tiles, columns, zoom)?)
}

/// The class names, unless there is only one: then a name says nothing.
fn class_captions(dataset: &dyn Dataset) -> Vec<String> {
    let names = dataset.class_names();
    match names.len() {
        1 => Vec::new(),
        _ => names,
    }
}

/// What was found in the first images of a data set.
///
/// # Errors
/// When an image cannot be read, or the sheet would be too large.
pub fn detections(
    dataset: &dyn Dataset,
    results: &[ImageResult],
    names: &[String],
) -> Result<Image> {
    let shown = SHOWN.min(results.len() as u64);
    let items = mist_data::load_range(dataset, 0..shown)?;
    let pairs = items.iter().zip(results);
    let tiles: Vec<Tile> = pairs
        .map(|(item, result)| Tile {
            image: &item.image,
            marks: marks(&result.detections, names, Scores::Hidden),
        })
        .collect();
    Ok(contact_sheet(&tiles, COLUMNS, ZOOM)?)
}

/// The first images of a data set, once for each model: what it found by the centre rule in green, what is wrong in red, and
/// no background, which is the last class. The paper's Figure 6.
///
/// # Errors
/// When an image cannot be read, or the sheet would be too large.
pub fn judged(dataset: &dyn Dataset, models: &[&[ImageResult]], names: &[String]) -> Result<Image> {
    let shown = models.iter().map(|results| results.len()).min();
    let shown = shown.unwrap_or(0).min(JUDGED as usize);
    let items = mist_data::load_range(dataset, 0..shown as u64)?;
    let background = names.len().saturating_sub(1);
    let mut tiles = Vec::new();
    for (row, items) in items.chunks(JUDGED_COLUMNS).enumerate() {
        for results in models {
            let results = &results[row * JUDGED_COLUMNS..][..items.len()];
            tiles.extend(items.iter().zip(results).map(|(item, result)| Tile {
                image: &item.image,
                marks: judged_marks(result, names, background),
            }));
        }
    }
    Ok(contact_sheet(&tiles, JUDGED_COLUMNS, 1)?)
}

fn judged_marks(result: &ImageResult, names: &[String], background: usize) -> Vec<Mark> {
    let mut result = result.clone();
    result.detections.retain(|found| found.label != background);
    let pairs = centre_pairs(&result, LabelRule::Equal);
    let is_right = |place: usize| pairs.iter().any(|pair| pair.detection == place);
    let found = result.detections.iter().enumerate();
    found
        .map(|(place, found)| Mark {
            bounds: found.bounds,
            caption: names.get(found.label).cloned().unwrap_or_default(),
            colour: match is_right(place) {
                true => Colour::RIGHT,
                false => Colour::WRONG,
            },
        })
        .collect()
}

/// The first images of a data set with their boxes, and the patches below; a model that redraws shows both redrawn as well.
/// The paper's Figure 4.
///
/// # Errors
/// When the model cannot be run on these images.
pub fn patches(finder: &dyn Finder, dataset: &dyn Dataset, device: &Device) -> Result<Image> {
    let count = dataset.len().unwrap_or(PATCH_IMAGES).min(PATCH_IMAGES) as usize;
    let (items, batch) = batches::load(dataset, 0, count, finder.channels(), device)?;
    let instances = finder.instances();
    let found = finder.find(batch.images.clone(), &vec![instances; count])?;
    let redrawn = match finder.redraw(batch.images.clone(), &found)? {
        Some(redrawn) => batches::to_images(redrawn.clamp(0.0, 1.0))?,
        None => Vec::new(),
    };
    let names = match finder.classes() {
        Some(_) => dataset.class_names(),
        None => Vec::new(),
    };
    let mut strips = Vec::new();
    if let Some(patches) = finder.patches(batch.images, &found)? {
        let image = |values: Tensor<4>| batches::to_images(values + patches.background);
        strips.push(image(patches.seen)?);
        strips.extend(patches.redrawn.map(image).transpose()?);
    }
    let mut blocks = Vec::new();
    let mut first_patch = 0;
    for (index, item) in items.iter().enumerate() {
        let tile = |image, marks| Tile { image, marks };
        let mut tiles = vec![
            tile(&item.image, Vec::new()),
            tile(&item.image, marks(&found[index], &names, Scores::Hidden)),
        ];
        tiles.extend(redrawn.get(index).map(|image| tile(image, Vec::new())));
        let upper = contact_sheet(&tiles, tiles.len(), PATCH_ZOOM)?;
        let own = first_patch..first_patch + found[index].len();
        let rows: Vec<&[Image]> = strips.iter().map(|strip| &strip[own.clone()]).collect();
        first_patch = own.end;
        if rows.is_empty() || own.is_empty() {
            blocks.push(upper);
        } else {
            let lower = strip(&rows, upper.width_px)?;
            blocks.push(below(&[upper, lower])?);
        }
    }
    let rows = blocks
        .chunks(PATCH_COLUMNS)
        .map(beside)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(below(&rows)?)
}
