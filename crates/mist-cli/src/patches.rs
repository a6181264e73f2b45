//! What the task network sees, and what it redraws: the paper's Figure 4.

use anyhow::Result;
use burn::tensor::{Device, Tensor};
use mist::model::{Model, TaskNetwork};
use mist_data::{Image, Scene, SceneSet, contact_sheet};

use crate::batches::Batch;
use crate::detections::{as_instance, captions};
use crate::mosaic::{below, beside, enlarged};

/// Images on a sheet, in rows of two.
const IMAGES: usize = 4;
const COLUMNS: usize = 2;
/// Screen pixels per pixel of an image.
const ZOOM: usize = 2;
/// Screen pixels of a patch at least.
const PATCH_PX: usize = 32;

/// Each of the first images of a set with its boxes, and the patches below; an auto-encoder shows both redrawn as well.
pub fn patch_sheet(model: &Model, set: &SceneSet, device: &Device) -> Result<Image> {
    let config = model.config();
    let channels = config.image_channels();
    let batch = Batch::draw(set, 0, IMAGES, channels, device);
    let found = model.locate(batch.images.clone())?;
    let boxes = model.label(batch.images.clone(), &found)?;
    let (patches, redrawn) = model.see(batch.images.clone(), &found)?;
    let seen = planes(&(patches + config.background), channels)?;
    let mut strips = vec![seen];
    let mut syntheses = vec![None; IMAGES];
    if let TaskNetwork::Autoencoder { .. } = config.task {
        strips.push(planes(&(redrawn + config.background), channels)?);
        let whole = planes(&model.redraw(batch.images.clone(), &found)?, channels)?;
        syntheses = whole.into_iter().map(Some).collect();
    }
    let instances = config.extractor.instances;
    let blocks = batch.scenes.iter().zip(boxes).zip(syntheses).enumerate();
    let blocks = blocks
        .map(|(image, ((scene, boxes), synthesis))| {
            let without_boxes = |image| Scene {
                image,
                instances: Vec::new(),
            };
            let mut shown = vec![
                without_boxes(scene.image.clone()),
                Scene {
                    instances: boxes.iter().map(as_instance).collect(),
                    ..scene.clone()
                },
            ];
            shown.extend(synthesis.map(|pixels| {
                without_boxes(Image {
                    pixels,
                    ..scene.image.clone()
                })
            }));
            let upper = contact_sheet(&shown, shown.len(), ZOOM, captions(&config.task))?;
            let mut parts = vec![upper];
            for strip in &strips {
                let own = &strip[image * instances..][..instances];
                let strip = strip_of(own, config.geometry.patch_px, parts[0].width_px);
                parts.push(strip);
            }
            Ok(below(&parts))
        })
        .collect::<Result<Vec<Image>>>()?;
    let rows: Vec<Image> = blocks.chunks(COLUMNS).map(beside).collect();
    Ok(below(&rows))
}

/// As many patches as fit into a width.
fn strip_of(patches: &[Vec<f32>], side: usize, width_px: usize) -> Image {
    let zoom = PATCH_PX.div_ceil(side);
    let fitting = width_px / (side * zoom + 3);
    let shown = patches.iter().take(fitting.max(1));
    let shown: Vec<Image> = shown.map(|patch| enlarged(patch, side, zoom)).collect();
    beside(&shown)
}

/// The first channel of each image or patch.
fn planes(images: &Tensor<4>, channels: usize) -> Result<Vec<Vec<f32>>> {
    let [_, _, height, width] = images.dims();
    let values = images.clone().try_into_vec_as::<f32>()?;
    let images = values.chunks_exact(channels * height * width);
    Ok(images
        .map(|image| image[..height * width].to_vec())
        .collect())
}
