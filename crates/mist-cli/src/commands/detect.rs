//! `mist detect`

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use burn::tensor::{Device, Tensor, TensorData};
use mist::model::TaskNetwork;
use mist_data::{DecodeLimits, Image, Scene, contact_sheet, read_image, write_png};

use super::Say;
use crate::cli::Detect;
use crate::detections::{DetectedImage, as_instance, captions, to_text};
use crate::exit::Usage;
use crate::models::{self, Choice};
use crate::stdout;

/// Screen pixels per image pixel of an overlay.
const ZOOM: usize = 3;

/// Prints what is found in each image.
pub fn run(command: &Detect, say: Say) -> Result<()> {
    command.precision.select()?;
    let device = command.device.device()?;
    let loaded = models::load(&command.model, Choice::Best, &device)?;
    let model = match command.instances {
        Some(instances) => loaded.model.with_instances(instances.into()),
        None => loaded.model,
    };
    let files = image_files(&command.images)?;
    if let (Some(_), TaskNetwork::Classifier { .. }) = (&command.redrawn, &model.config().task) {
        return Err(
            Usage("--redrawn needs a model that was trained by reconstruction".into()).into(),
        );
    }
    for directory in command.overlay.iter().chain(&command.redrawn) {
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
    }
    let mut images = Vec::with_capacity(files.len());
    for file in &files {
        let image = read_image(file, DecodeLimits::default())?;
        let tensor = to_tensor(&image, model.config().image_channels(), &device);
        let found = model
            .locate(tensor.clone())
            .with_context(|| file.display().to_string())?;
        let labelled = model.label(tensor.clone(), &found)?;
        let detections = labelled.into_iter().next().unwrap_or_default();
        let name = file.file_name().unwrap_or(file.as_os_str());
        if let Some(directory) = &command.redrawn {
            let redrawn = to_image(model.redraw(tensor, &found)?)?;
            write_png(&directory.join(name), &redrawn)?;
        }
        if let Some(directory) = &command.overlay {
            let scene = Scene {
                instances: detections.iter().map(as_instance).collect(),
                image: image.clone(),
            };
            let captions = captions(&model.config().task);
            let overlay = contact_sheet(&[scene], 1, ZOOM, captions)?;
            write_png(&directory.join(name), &overlay)?;
        }
        images.push(DetectedImage {
            file: file.display().to_string(),
            width_px: image.width_px,
            height_px: image.height_px,
            detections,
        });
    }
    let total: usize = images.iter().map(|image| image.detections.len()).sum();
    say.line(format_args!("{total} objects in {} images", images.len()));
    stdout::write(&to_text(&images, &loaded.card.class_names, command.format))
}

/// The files given, and the PNG files of the folders given, in order of their names.
fn image_files(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in given {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries =
            fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut inside = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<Vec<_>>>()
            .with_context(|| format!("cannot read {}", path.display()))?;
        inside.retain(|file| is_png(file));
        if inside.is_empty() {
            return Err(Usage(format!("{} holds no PNG files", path.display())).into());
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
