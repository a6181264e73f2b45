//! Detection in image files.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor, TensorData};
use mist::model::{Model, TaskNetwork};
use mist_data::{Image, Scene, contact_sheet, read_png, write_png};

use super::{DetectedImage, as_instance, captions};
use crate::error::{AtPath, Context, Error, Result};

/// Screen pixels per image pixel of an overlay.
const ZOOM: usize = 3;

/// What to do with images beside finding objects in them.
#[derive(Clone, Debug, Default)]
pub struct DetectOptions {
    /// Draws boxes and labels into PNG files in this directory.
    pub overlay: Option<PathBuf>,
    /// Writes each image as the model redraws it into this directory; for models trained by reconstruction.
    pub redrawn: Option<PathBuf>,
}

/// What a model finds in PNG files and in folders of them, file after file in order of their names.
///
/// # Errors
/// When a file cannot be read or written, or the model cannot be run on an image.
pub fn detect_files(
    model: &Model,
    paths: &[PathBuf],
    options: &DetectOptions,
    device: &Device,
) -> Result<Vec<DetectedImage>> {
    let files = image_files(paths)?;
    if let (Some(_), TaskNetwork::Classifier { .. }) = (&options.redrawn, &model.config().task) {
        let reason = "only a model that was trained by reconstruction redraws images";
        return Err(Error::Usage(reason.to_owned()));
    }
    for directory in options.overlay.iter().chain(&options.redrawn) {
        fs::create_dir_all(directory).at("create", directory)?;
    }
    refuse_overwriting(&files, options)?;
    files
        .iter()
        .map(|file| detect_file(model, file, options, device))
        .collect()
}

/// Refuses two pictures of one name, and a picture in the place of an image.
fn refuse_overwriting(files: &[PathBuf], options: &DetectOptions) -> Result<()> {
    // What does not exist yet has no canonical path, and cannot be an image either.
    let canonical = |path: &Path| path.canonicalize().ok();
    let images: HashSet<PathBuf> = files.iter().filter_map(|file| canonical(file)).collect();
    let mut drawn = HashSet::new();
    for directory in options.overlay.iter().chain(&options.redrawn) {
        for file in files {
            let picture = directory.join(picture_name(file));
            let replaces_an_image = canonical(&picture).is_some_and(|path| images.contains(&path));
            if replaces_an_image || !drawn.insert(picture.clone()) {
                return Err(Error::Usage(format!(
                    "{} would be written over; choose another directory, or give images of one name one after the other",
                    picture.display()
                )));
            }
        }
    }
    Ok(())
}

fn picture_name(image: &Path) -> &OsStr {
    image.file_name().unwrap_or(image.as_os_str())
}

fn detect_file(
    model: &Model,
    file: &Path,
    options: &DetectOptions,
    device: &Device,
) -> Result<DetectedImage> {
    let image = read_png(file)?;
    let tensor = to_tensor(&image, model.config().image_channels(), device);
    let found = model.locate(tensor.clone()).context(file.display())?;
    let labelled = model
        .label(tensor.clone(), &found)
        .context(file.display())?;
    let detections = labelled.into_iter().next().unwrap_or_default();
    let name = picture_name(file);
    if let Some(directory) = &options.redrawn {
        let redrawn = model.redraw(tensor, &found).context(file.display())?;
        write_png(&directory.join(name), &to_image(redrawn)?)?;
    }
    if let Some(directory) = &options.overlay {
        let scene = Scene {
            instances: detections.iter().map(as_instance).collect(),
            image: image.clone(),
        };
        let captions = captions(&model.config().task);
        let overlay = contact_sheet(&[scene], 1, ZOOM, captions)?;
        write_png(&directory.join(name), &overlay)?;
    }
    Ok(DetectedImage {
        file: file.display().to_string(),
        width_px: image.width_px,
        height_px: image.height_px,
        detections,
    })
}

/// The files given, and the PNG files of the folders given, in order of their names.
fn image_files(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in given {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).at("read", path)?;
        let mut inside = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<Vec<_>>>()
            .at("read", path)?;
        inside.retain(|file| is_png(file));
        if inside.is_empty() {
            let path = path.display();
            return Err(Error::Usage(format!("{path} holds no PNG files")));
        }
        inside.sort();
        files.extend(inside);
    }
    Ok(files)
}

fn is_png(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("png"))
}

/// The first image of a tensor.
fn to_image(images: Tensor<4>) -> Result<Image> {
    let [_, channels, height_px, width_px] = images.dims();
    let mut pixels = images.try_into_vec_as::<f32>()?;
    pixels.truncate(channels * height_px * width_px);
    Ok(Image {
        width_px,
        height_px,
        channels,
        pixels,
    })
}

/// The image in as many channels as the model sees: gray is repeated, colours are averaged.
fn to_tensor(image: &Image, channels: usize, device: &Device) -> Tensor<4> {
    let area = image.width_px * image.height_px;
    let pixels = if image.channels == channels {
        image.pixels.clone()
    } else {
        let share = 1.0 / image.channels as f32;
        let mut gray = vec![0.0; area];
        for plane in image.pixels.chunks_exact(area) {
            for (sum, value) in gray.iter_mut().zip(plane) {
                *sum += value * share;
            }
        }
        gray.repeat(channels)
    };
    let shape = [1, channels, image.height_px, image.width_px];
    Tensor::from_data(TensorData::new(pixels, shape), device)
}
