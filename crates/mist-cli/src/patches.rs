//! What the task network sees, and what it redraws.

use anyhow::Result;
use burn::tensor::{Device, Tensor};
use mist::model::{Model, TaskNetwork};
use mist_data::{Image, SceneSet};

use crate::batches::Batch;

/// Images on a sheet.
const IMAGES: usize = 4;
/// Screen pixels between two tiles, and per pixel.
const GAP_PX: usize = 3;
const ZOOM: usize = 2;

/// The first images of a set, each followed by its patches; an auto-encoder's second row holds both redrawn.
pub fn patch_sheet(model: &Model, set: &SceneSet, device: &Device) -> Result<Image> {
    let config = model.config();
    let channels = config.image_channels();
    let batch = Batch::draw(set, 0, IMAGES, channels, device);
    let found = model.locate(batch.images.clone())?;
    let (patches, redrawn) = model.see(batch.images.clone(), &found)?;
    let mut rows = vec![(batch.images.clone(), patches)];
    if let TaskNetwork::Autoencoder { .. } = config.task {
        rows.push((model.redraw(batch.images.clone(), &found)?, redrawn));
    }
    let instances = config.extractor.instances;
    let side = set.canvas_px();
    let patch = config.geometry.patch_px;
    let width = GAP_PX + (side * ZOOM + GAP_PX) + instances * (patch * ZOOM + GAP_PX);
    let height = GAP_PX + IMAGES * rows.len() * (side.max(patch) * ZOOM + GAP_PX);
    let mut sheet = Sheet {
        image: Image::filled(width, height, 1, 0.3),
    };
    let read = |tensor: &Tensor<4>| tensor.clone().try_into_vec_as::<f32>();
    for (row, (images, patches)) in rows.iter().enumerate() {
        let (images, patches) = (read(images)?, read(patches)?);
        for image in 0..IMAGES {
            let line = image * rows.len() + row;
            let top = GAP_PX + line * (side.max(patch) * ZOOM + GAP_PX);
            let plane = &images[image * channels * side * side..][..side * side];
            sheet.put(plane, side, GAP_PX, top);
            for instance in 0..instances {
                let start = (image * instances + instance) * channels * patch * patch;
                let left = 2 * GAP_PX + side * ZOOM + instance * (patch * ZOOM + GAP_PX);
                sheet.put(&patches[start..][..patch * patch], patch, left, top);
            }
        }
    }
    Ok(sheet.image)
}

struct Sheet {
    image: Image,
}

impl Sheet {
    /// Draws a square plane, enlarged.
    fn put(&mut self, plane: &[f32], side: usize, left: usize, top: usize) {
        for y in 0..side * ZOOM {
            for x in 0..side * ZOOM {
                let offset = self.image.offset(left + x, top + y, 0);
                self.image.pixels[offset] = plane[y / ZOOM * side + x / ZOOM];
            }
        }
    }
}
