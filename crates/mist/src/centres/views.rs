//! Images of a batch as H sees them, and the planes that objects are looked for in.

use burn::tensor::{Device, Tensor, TensorData};

use super::maps::{resized, scale_of};
use crate::Error;
use crate::geometry::Keypoint;
use crate::model::Model;
use crate::proposals::Plane;

/// Images at the size that H sees them, with sides that its levels divide.
pub(super) fn seen(model: &Model, images: Tensor<4>) -> Result<Tensor<4>, Error> {
    let images = resized(model, model.foreground(images))?;
    let [_, _, height, width] = images.dims();
    let multiple = model.config().detector.side_multiple_px();
    let sides = [height, width].map(|side| side / multiple * multiple);
    Ok(images.narrow(2, 0, sides[0]).narrow(3, 0, sides[1]))
}

/// The planes of each image, one per channel.
pub(super) fn planes(images: Tensor<4>) -> Result<Vec<Vec<Plane>>, Error> {
    let [_, channels, height, width] = images.dims();
    let values = images.try_into_vec_as::<f32>()?;
    let area = (height * width).max(1);
    let image = |image: &[f32]| {
        let plane = |plane: &[f32]| Plane {
            values: plane.to_vec(),
            width_px: width,
        };
        image.chunks_exact(area).map(plane).collect()
    };
    Ok(values.chunks_exact(channels * area).map(image).collect())
}

/// The mean over channels.
pub(super) fn gray(planes: &[Plane]) -> Plane {
    let share = 1.0 / planes.len().max(1) as f32;
    let mut planes_left = planes.iter();
    let mut gray = planes_left.next().cloned().unwrap_or(Plane {
        values: Vec::new(),
        width_px: 1,
    });
    for plane in planes_left {
        for (sum, value) in gray.values.iter_mut().zip(&plane.values) {
            *sum += value;
        }
    }
    if planes.len() > 1 {
        gray.values.iter_mut().for_each(|value| *value *= share);
    }
    gray
}

/// Images of equal sizes as a tensor `[batch, channels, height, width]`.
pub(super) fn to_tensor(images: &[Vec<Plane>], shape: [usize; 4], device: &Device) -> Tensor<4> {
    let values: Vec<f32> = images
        .iter()
        .flatten()
        .flat_map(|plane| plane.values.iter().copied())
        .collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Keypoints in pixels of the images, of those in pixels that H sees.
pub(super) fn in_image(model: &Model, keypoints: &[Vec<Keypoint>]) -> Vec<Vec<Keypoint>> {
    let scale = scale_of(model);
    let in_image = |keypoint: &Keypoint| Keypoint {
        x_px: keypoint.x_px * scale,
        y_px: keypoint.y_px * scale,
        scale: keypoint.scale * scale,
    };
    let images = keypoints.iter();
    images
        .map(|image| image.iter().map(in_image).collect())
        .collect()
}
