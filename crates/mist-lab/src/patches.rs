//! What the task network sees, and what it redraws: the paper's Figure 4.

use burn::tensor::{Device, Tensor};
use mist::model::{Model, TaskNetwork};
use mist_data::{Image, Scene, SceneSet, contact_sheet};

use crate::batches::Batch;
use crate::detections::{as_instance, captions};
use crate::error::Result;
use crate::mosaic::{GAP_PX, below, beside, enlarged};

/// Images on a sheet, in rows of two.
const IMAGES: usize = 4;
const COLUMNS: usize = 2;
/// Screen pixels per pixel of an image.
const ZOOM: usize = 2;
/// Screen pixels of a patch at least, unless there are very many.
const PATCH_PX: usize = 32;

/// Each of the first images of a set with its boxes, and the patches below; an auto-encoder shows both redrawn as well.
///
/// # Errors
/// When the model cannot be run on these images.
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
            let own: Vec<&[Vec<f32>]> = strips
                .iter()
                .map(|strip| &strip[image * instances..][..instances])
                .collect();
            parts.extend(lines_of(&own, config.geometry.patch_px, parts[0].width_px));
            Ok(below(&parts))
        })
        .collect::<Result<Vec<Image>>>()?;
    let rows: Vec<Image> = blocks.chunks(COLUMNS).map(beside).collect();
    Ok(below(&rows))
}

/// Strips of patches, one below the other, in lines of about the same length.
fn lines_of(strips: &[&[Vec<f32>]], side: usize, width_px: usize) -> Vec<Image> {
    let count = strips.first().map_or(0, |strip| strip.len());
    let lines = |zoom: usize| count.div_ceil((width_px / (side * zoom + GAP_PX)).max(1));
    let largest = PATCH_PX.div_ceil(side);
    let large = (1..=largest).rev().find(|&zoom| lines(zoom) <= 2);
    let zoom = large.unwrap_or(1);
    let per_line = count.div_ceil(lines(zoom).max(1)).max(1);
    let line = |patches: &[Vec<f32>]| {
        let patches = patches.iter().map(|patch| enlarged(patch, side, zoom));
        beside(&patches.collect::<Vec<Image>>())
    };
    let starts = (0..count).step_by(per_line);
    let lines = starts.flat_map(|start| {
        let end = count.min(start + per_line);
        strips.iter().map(move |strip| line(&strip[start..end]))
    });
    lines.collect()
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
