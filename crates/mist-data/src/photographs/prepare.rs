//! The paper's PASCAL+COCO set from the original images: which are kept, and what is cut out of them.

use std::fs;
use std::path::{Path, PathBuf};

use mist_geometry::PixelBox;
use serde::Serialize;

use super::resample::resample;
use super::{INSTANCES, SIDE_PX, VOC_CLASSES, coco_json, voc};
use crate::error::{AtPath, RequestError, Result, bad_input};
use crate::image::{DecodeLimits, Image, encode_png, read_image};
use crate::random::SceneRng;
use crate::split::Split;
use crate::staging;

/// Largest share of the image's area that an object may have.
const MAX_AREA_FRAC: f32 = 0.3;
/// Largest ratio of an object's sides.
const MAX_ASPECT: f32 = 2.0;
/// Share of the crop that objects cover on average.
const COVERED_FRAC: f64 = 0.3;

/// An image with boxes, as an annotation says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AnnotatedPhoto {
    pub file: String,
    pub width_px: f32,
    pub height_px: f32,
    pub objects: Vec<AnnotatedObject>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct AnnotatedObject {
    pub class: String,
    pub bounds: PixelBox,
}

/// How many images each rule left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Prepared {
    /// Images looked at.
    pub images: usize,
    /// Images without any of the 20 classes.
    pub without_class: usize,
    /// Images with an object of more than 30 % of the area.
    pub object_too_large: usize,
    /// Images with an object more than twice as long as wide.
    pub object_too_long: usize,
    /// Images whose objects do not fit into one crop, or are more than two.
    pub no_crop: usize,
    /// Images that cannot be read.
    pub unreadable: usize,
    /// Annotations that cannot be read.
    pub bad_annotations: usize,
    /// Boxes outside of their image or without an area.
    pub bad_boxes: usize,
    /// Crops written.
    pub written: usize,
}

/// Where the original images are; either may be left out.
#[derive(Debug, Clone, Default)]
pub struct PrepareSources {
    /// A directory with `Annotations/*.xml` and `JPEGImages/`, or with `annotations.csv`.
    pub voc: Option<PathBuf>,
    /// A directory with `annotations/instances_*.json`, or with `annotations.csv`.
    pub coco: Option<PathBuf>,
}

/// Applies the paper's filter and cuts random crops, in which objects cover 30 % on average; writes `annotations.csv` and
/// `images/` into a new directory.
///
/// # Errors
/// When nothing is given, a source has no annotations, or the output cannot be written.
pub fn prepare(sources: &PrepareSources, seed: u64, out: &Path) -> Result<Prepared> {
    if out.exists() {
        return Err(RequestError::OutputExists(out.to_owned()).into());
    }
    let mut report = Prepared::default();
    let mut photos: Vec<(PathBuf, AnnotatedPhoto)> = Vec::new();
    for root in [&sources.voc, &sources.coco].into_iter().flatten() {
        photos.extend(annotated(root, &mut report)?);
    }
    if photos.is_empty() {
        let shown = sources.voc.as_ref().or(sources.coco.as_ref());
        let shown = shown.cloned().unwrap_or_default();
        return Err(RequestError::NoImages(shown).into());
    }
    let work = staging::sibling_directory(out)?;
    let images = work.path().join("images");
    fs::create_dir(&images).at("create", &images)?;
    let mut table = "split,file,width,height,class,xmin,ymin,xmax,ymax\n".to_owned();
    for (index, (path, photo)) in photos.iter().enumerate() {
        report.images += 1;
        let Some((objects, crop)) = kept(photo, seed, index as u64, &mut report) else {
            continue;
        };
        let Ok(image) = read_image(path, DecodeLimits::default()) else {
            report.unreadable += 1;
            continue;
        };
        let name = format!("{index:06}.png");
        let cut = cut(&image, crop);
        let factor = SIDE_PX as f32 / cut.width_px.min(cut.height_px).max(1) as f32;
        let side = |side_px: usize| ((side_px as f32 * factor).round() as usize).max(1);
        let resized = resample(&cut, side(cut.width_px), side(cut.height_px));
        let target = images.join(&name);
        fs::write(&target, encode_png(&resized)?).at("write", &target)?;
        let split = match index % 10 {
            0 => Split::Valid,
            1 | 2 => Split::Test,
            _ => Split::Train,
        };
        for (class, bounds) in objects {
            let shifted = [
                bounds.x_min_px - crop.x_min_px,
                bounds.y_min_px - crop.y_min_px,
                bounds.x_max_px - crop.x_min_px,
                bounds.y_max_px - crop.y_min_px,
            ];
            let [x0, y0, x1, y1] = shifted.map(|edge| edge * factor);
            table += &format!(
                "{split},{name},{},{},{class},{x0:.1},{y0:.1},{x1:.1},{y1:.1}\n",
                resized.width_px, resized.height_px
            );
        }
        report.written += 1;
    }
    staging::write_file(&work.path().join("annotations.csv"), table.as_bytes())?;
    fs::rename(work.path(), out).at("rename to", out)?;
    Ok(report)
}

/// The images of a source with what is known of them, by path.
fn annotated(root: &Path, report: &mut Prepared) -> Result<Vec<(PathBuf, AnnotatedPhoto)>> {
    let table = root.join("annotations.csv");
    if table.is_file() {
        return of_table(root, &table);
    }
    let mut photos = Vec::new();
    let xml = root.join("Annotations");
    if xml.is_dir() {
        for path in sorted(&xml, "xml")? {
            let text = fs::read_to_string(&path).at("read", &path)?;
            match voc::read(&text) {
                Ok(photo) => photos.push((root.join("JPEGImages").join(&photo.file), photo)),
                Err(_) => report.bad_annotations += 1,
            }
        }
    }
    let json = root.join("annotations");
    if json.is_dir() {
        for path in sorted(&json, "json")? {
            let text = fs::read_to_string(&path).at("read", &path)?;
            let name = path.file_stem().and_then(|name| name.to_str());
            let folder = name.and_then(|name| name.strip_prefix("instances_"));
            let folder = root.join(folder.unwrap_or("images"));
            let read = coco_json::read(&text).map_err(|reason| bad_input(&path, reason))?;
            photos.extend(read.into_iter().map(|photo| (folder.join(&photo.file), photo)));
        }
    }
    Ok(photos)
}

/// Tables with a `split` and a `file` or an `id` in front: images are in `images/`, or in a folder of the split's name.
fn of_table(root: &Path, table: &Path) -> Result<Vec<(PathBuf, AnnotatedPhoto)>> {
    let text = fs::read_to_string(table).at("read", table)?;
    let mut photos: Vec<(PathBuf, AnnotatedPhoto)> = Vec::new();
    for (index, line) in text.lines().enumerate().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [split, file, width, height, class, corners @ ..] = fields.as_slice() else {
            return Err(bad_input(table, format!("line {} is too short", index + 1)));
        };
        let number = |text: &str| text.trim().parse::<f32>().unwrap_or(f32::NAN);
        let corner = |index: usize| corners.get(index).map_or(f32::NAN, |text| number(text));
        let name = match file.contains('.') {
            true => (*file).to_owned(),
            false => format!("{file}.jpg"),
        };
        let folder = match root.join(split).is_dir() {
            true => root.join(split),
            false => root.join("images"),
        };
        let path = folder.join(&name);
        if photos.last().is_none_or(|(last, _)| *last != path) {
            let photo = AnnotatedPhoto {
                file: name,
                width_px: number(width),
                height_px: number(height),
                objects: Vec::new(),
            };
            photos.push((path, photo));
        }
        if let Some((_, photo)) = photos.last_mut() {
            photo.objects.push(AnnotatedObject {
                class: coco_json::voc_name(class).to_owned(),
                bounds: PixelBox {
                    x_min_px: corner(0),
                    y_min_px: corner(1),
                    x_max_px: corner(2),
                    y_max_px: corner(3),
                },
            });
        }
    }
    Ok(photos)
}

fn sorted(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).at("read", folder)? {
        let path = entry.at("read", folder)?.path();
        if path.extension().is_some_and(|own| own == extension) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The objects of the 20 classes and a crop that holds one or two of them whole, if the rules keep the image.
fn kept<'a>(
    photo: &'a AnnotatedPhoto,
    seed: u64,
    index: u64,
    report: &mut Prepared,
) -> Option<(Vec<(&'a str, PixelBox)>, PixelBox)> {
    let (width, height) = (photo.width_px, photo.height_px);
    let mut objects = Vec::new();
    for object in &photo.objects {
        if !VOC_CLASSES.contains(&object.class.as_str()) {
            continue;
        }
        let bounds = object.bounds;
        let inside = bounds.x_max_px > 0.0
            && bounds.y_max_px > 0.0
            && bounds.x_min_px < width
            && bounds.y_min_px < height;
        // A box that is not a number fails every comparison.
        if !inside || !(bounds.area_px2() > 0.0) {
            report.bad_boxes += 1;
            continue;
        }
        objects.push((object.class.as_str(), bounds));
    }
    if objects.is_empty() {
        report.without_class += 1;
        return None;
    }
    if objects.iter().any(|(_, b)| b.area_px2() > MAX_AREA_FRAC * width * height) {
        report.object_too_large += 1;
        return None;
    }
    let aspect = |b: &PixelBox| (b.width_px() / b.height_px()).max(b.height_px() / b.width_px());
    if objects.iter().any(|(_, b)| aspect(b) > MAX_ASPECT) {
        report.object_too_long += 1;
        return None;
    }
    let mut random = SceneRng::new("voc-coco crops", seed, Split::Train, index);
    let crop = crop_around(&objects, [width, height], &mut random);
    let within = |b: &PixelBox, crop: &PixelBox| {
        b.x_min_px >= crop.x_min_px
            && b.y_min_px >= crop.y_min_px
            && b.x_max_px <= crop.x_max_px
            && b.y_max_px <= crop.y_max_px
    };
    let touches = |b: &PixelBox, crop: &PixelBox| b.iou(*crop) > 0.0;
    let whole: Vec<(&str, PixelBox)> = objects
        .iter()
        .filter(|(_, b)| within(b, &crop))
        .copied()
        .collect();
    let cut_through = objects.iter().any(|(_, b)| touches(b, &crop) && !within(b, &crop));
    if cut_through || !(1..=INSTANCES).contains(&whole.len()) {
        report.no_crop += 1;
        return None;
    }
    Some((whole, crop))
}

/// A random square around a random object of which it covers 30 % on average, inside the image.
fn crop_around(
    objects: &[(&str, PixelBox)],
    [width, height]: [f32; 2],
    random: &mut SceneRng,
) -> PixelBox {
    let (_, object) = objects[random.below(objects.len())];
    let covered = COVERED_FRAC * random.within(0.5, 1.5);
    let longest = object.width_px().max(object.height_px());
    let side = ((f64::from(object.area_px2()) / covered).sqrt() as f32)
        .max(longest)
        .min(width.min(height));
    let mut place = |low: f32, high: f32, end: f32| {
        let least = (high - side).max(0.0);
        let most = low.min(end - side).max(least);
        random.within(f64::from(least), f64::from(most)) as f32
    };
    let x = place(object.x_min_px, object.x_max_px, width).floor().max(0.0);
    let y = place(object.y_min_px, object.y_max_px, height).floor().max(0.0);
    PixelBox {
        x_min_px: x,
        y_min_px: y,
        x_max_px: x + side,
        y_max_px: y + side,
    }
}

/// The pixels of a crop, as far as they lie in the image.
fn cut(image: &Image, crop: PixelBox) -> Image {
    let end = |edge: f32, side_px: usize| (edge.round().max(0.0) as usize).min(side_px);
    let (x0, y0) = (end(crop.x_min_px, image.width_px), end(crop.y_min_px, image.height_px));
    let (x1, y1) = (end(crop.x_max_px, image.width_px), end(crop.y_max_px, image.height_px));
    let (width_px, height_px) = (x1.saturating_sub(x0).max(1), y1.saturating_sub(y0).max(1));
    let mut pixels = Vec::with_capacity(width_px * height_px * image.channels);
    for channel in 0..image.channels {
        for y in 0..height_px {
            let row = (y0 + y).min(image.height_px - 1);
            for x in 0..width_px {
                let column = (x0 + x).min(image.width_px - 1);
                pixels.push(image.pixels[image.offset(column, row, channel)]);
            }
        }
    }
    Image {
        width_px,
        height_px,
        channels: image.channels,
        pixels,
    }
}
