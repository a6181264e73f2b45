//! Photographs prepared as the paper does with PASCAL and COCO (section 5.3): filtered, and cropped at random so that objects
//! cover 30 % of an image on average.

mod crop;
mod rules;
mod sources;

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use self::crop::Crop;
use self::rules::{Object, Unfit};
use self::sources::{Faults, Photograph, Source};
use super::resample::resample;
use super::{SIDE_PX, VOC_CLASSES};
use crate::error::{AtPath, RequestError, Result};
use crate::image::{DecodeLimits, encode_jpeg, read_image};
use crate::random::SceneRng;
use crate::split::Split;
use crate::staging;

/// The shares of images in the training and the validation part; the paper's 7,816 and 987 of 9,780.
const PARTS: [f64; 2] = [0.8, 0.9];

/// What is prepared, and where it goes.
#[derive(Clone, Debug)]
pub struct PrepareRequest {
    /// Directories of data sets, each as VOC has them (`Annotations/*.xml`), as COCO (`annotations/*.json`), or with a table
    /// `annotations.csv`.
    pub sources: Vec<PathBuf>,
    /// Directory to write, which must not exist.
    pub out: PathBuf,
    /// What crops and parts are drawn from.
    pub seed: u64,
}

/// What became of the photographs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Prepared {
    /// Image files that were looked at.
    pub looked_at: usize,
    /// Of the training, validation and test part.
    pub kept: [usize; 3],
    /// Objects in what was kept.
    pub objects: usize,
    /// Share of an image that its objects cover, on average.
    pub mean_cover: f64,
    /// Photographs without annotations.
    pub without_annotations: usize,
    /// Photographs that show none of the 20 classes.
    pub without_objects: usize,
    /// Photographs with an object of over 30 % of the area.
    pub too_large: usize,
    /// Photographs with an object more than twice as wide as it is high, or as high as it is wide.
    pub too_narrow: usize,
    /// Image files that could not be decoded.
    pub damaged_images: usize,
    /// Annotated photographs whose image is missing.
    pub missing_images: usize,
    /// Boxes outside of their image or without an area, and entries that could not be read.
    pub skipped_boxes: usize,
}

/// Filters and crops photographs, and writes them with a table of their boxes; what cannot be used is skipped and counted.
///
/// # Errors
/// When a source is no data set, nothing is left, or the directory cannot be written.
pub fn prepare(request: &PrepareRequest) -> Result<Prepared> {
    if request.out.exists() {
        return Err(RequestError::OutputExists(request.out.clone()).into());
    }
    let staged = staging::sibling_directory(&request.out)?;
    let images = staged.path().join("images");
    fs::create_dir(&images).at("create", &images)?;
    let mut prepared = Prepared::default();
    let mut table = String::from("split,file,width,height,class,xmin,ymin,xmax,ymax\n");
    for (index, root) in request.sources.iter().enumerate() {
        let source = Source::open(root)?;
        prepared.note(&source.faults);
        prepared.looked_at += source.looked_at;
        for (place, photograph) in source.photographs.iter().enumerate() {
            let stream = (index as u64) << 32 | place as u64;
            let mut random =
                SceneRng::new("photographs prepared", request.seed, Split::Train, stream);
            let part = random.unit();
            let part = PARTS.iter().filter(|end| part >= **end).count();
            let crop = match cropped(photograph, &mut random, &mut prepared.skipped_boxes) {
                Ok(crop) => crop,
                Err(unfit) => {
                    prepared.count(unfit);
                    continue;
                }
            };
            let file = format!("{index}_{}.jpg", photograph.name);
            let path = images.join(&file);
            fs::write(&path, encode_jpeg(&crop.image)?).at("write", &path)?;
            prepared.kept[part] += 1;
            prepared.objects += crop.objects.len();
            prepared.mean_cover += crop.cover();
            table += &lines(Split::ALL[part], &file, &crop);
        }
    }
    let kept: usize = prepared.kept.iter().sum();
    if kept == 0 {
        return Err(RequestError::NoImages(request.out.clone()).into());
    }
    prepared.mean_cover /= kept as f64;
    write(staged.path(), "annotations.csv", table.as_bytes())?;
    let report = serde_json::to_vec_pretty(&prepared).unwrap_or_default();
    write(staged.path(), "report.json", &report)?;
    fs::rename(staged.path(), &request.out).at("rename to", &request.out)?;
    Ok(prepared)
}

/// A crop of a photograph that fits, its shorter side as long as the networks see it.
fn cropped(
    photograph: &Photograph,
    random: &mut SceneRng,
    skipped: &mut usize,
) -> Result<Crop, Unfit> {
    if photograph.objects.is_empty() {
        return Err(Unfit::WithoutObjects);
    }
    let image =
        read_image(&photograph.path, DecodeLimits::default()).map_err(|_| Unfit::Damaged)?;
    let (objects, useless) = rules::inside(&photograph.objects, image.size());
    *skipped += useless;
    rules::check(&objects, image.size())?;
    let crop = crop::around(&image, &objects, random);
    let factor = SIDE_PX as f32 / crop.image.width_px.min(crop.image.height_px) as f32;
    let side = |px: usize| (px as f32 * factor).round() as usize;
    let (width_px, height_px) = (side(crop.image.width_px), side(crop.image.height_px));
    Ok(Crop {
        image: resample(&crop.image, width_px, height_px),
        objects: crop
            .objects
            .iter()
            .map(|object| object.scaled(factor))
            .collect(),
    })
}

fn lines(split: Split, file: &str, crop: &Crop) -> String {
    let (width, height) = (crop.image.width_px, crop.image.height_px);
    let line = |object: &Object| {
        let (class, b) = (VOC_CLASSES[object.label], object.bounds);
        format!(
            "{split},{file},{width},{height},{class},{:.1},{:.1},{:.1},{:.1}\n",
            b.x_min_px, b.y_min_px, b.x_max_px, b.y_max_px
        )
    };
    crop.objects.iter().map(line).collect()
}

fn write(directory: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = directory.join(name);
    fs::write(&path, bytes).at("write", &path)
}

impl Prepared {
    fn note(&mut self, faults: &Faults) {
        self.without_annotations += faults.without_annotations;
        self.missing_images += faults.missing_images;
        self.skipped_boxes += faults.entries;
    }

    fn count(&mut self, unfit: Unfit) {
        *match unfit {
            Unfit::WithoutObjects => &mut self.without_objects,
            Unfit::TooLarge => &mut self.too_large,
            Unfit::TooNarrow => &mut self.too_narrow,
            Unfit::Damaged => &mut self.damaged_images,
        } += 1;
    }
}
