//! The detector's two outputs for images of any size.

use burn::tensor::ops::PadMode;
use burn::tensor::{Device, Tensor, TensorData};

use super::loss;
use super::peaks::Maps;
use crate::Error;
use crate::extract::ScoredKeypoint;
use crate::geometry::Keypoint;
use crate::heatmap::{resize, scaled};
use crate::large::{ImageView, LargeSearch};
use crate::model::{DETECTOR, Model};
use crate::networks::InputStatistics;

/// Scores and sizes, `[batch, 1, height, width]` each, of images whose sides the detector's levels need not divide.
pub(super) fn outputs(model: &Model, images: Tensor<4>) -> Result<[Tensor<4>; 2], Error> {
    let [_, _, height, width] = images.dims();
    let multiple = model.config().detector.side_multiple_px();
    let missing = |side: usize| side.next_multiple_of(multiple) - side;
    let padded = match (missing(width), missing(height)) {
        (0, 0) => images,
        (right, bottom) => images.pad((0, right, 0, bottom), PadMode::Edge),
    };
    let detector = &model.heatmap.detector;
    let output = detector.forward(padded, InputStatistics::Running)?;
    let output = output.narrow(2, 0, height).narrow(3, 0, width);
    Ok([output.clone().narrow(1, 0, 1), output.narrow(1, 1, 1)])
}

/// Images as the detector sees them: objects of the model's scale shrink to the base size.
pub(super) fn resized(model: &Model, images: Tensor<4>) -> Result<Tensor<4>, Error> {
    let [_, _, height, width] = images.dims();
    let scale = scale_of(model);
    resize(images, scaled(height, scale), scaled(width, scale))
}

pub(super) fn scale_of(model: &Model) -> f32 {
    model.config().scales.values()[0]
}

/// Maps of each image, as the detector sees it.
pub(super) fn maps(model: &Model, seen: Tensor<4>) -> Result<Vec<Maps>, Error> {
    let [batch, _, height, width] = seen.dims();
    let [scores, sizes] = outputs(model, seen)?;
    let heat = loss::heat(scores).try_into_vec_as::<f32>()?;
    let sizes = sizes.try_into_vec_as::<f32>()?;
    let area = height * width;
    let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
    (0..batch)
        .map(|image| {
            let part = image * area..(image + 1) * area;
            let (heat, sizes) = (&heat[part.clone()], &sizes[part]);
            if !finite(heat) || !finite(sizes) {
                let network = DETECTOR;
                return Err(Error::NonFiniteOutput { network, image });
            }
            Ok(Maps {
                heat: heat.to_vec(),
                sizes: sizes.to_vec(),
                width_px: width,
            })
        })
        .collect()
}

/// As [`maps`] for one large image, through windows that see as far beyond what they own as the detector does.
pub(super) fn large_maps(
    model: &Model,
    image: ImageView<'_>,
    search: LargeSearch,
) -> Result<Maps, Error> {
    let scale = scale_of(model);
    let [height, width] = [image.height_px, image.width_px].map(|side| scaled(side, scale));
    let multiple = model.config().detector.side_multiple_px();
    // Windows begin where the whole image's pooling does.
    let halo = model
        .config()
        .detector
        .reach_px()
        .next_multiple_of(multiple);
    let own = search.window_px.next_multiple_of(multiple);
    let mut maps = Maps {
        heat: vec![0.0; width * height],
        sizes: vec![0.0; width * height],
        width_px: width,
    };
    for top in (0..height).step_by(own) {
        for left in (0..width).step_by(own) {
            let (first_row, first_column) = (top.saturating_sub(halo), left.saturating_sub(halo));
            let (end_row, end_column) = (
                (top + own + halo).min(height),
                (left + own + halo).min(width),
            );
            let mut pixels = Vec::new();
            let part = [first_row..end_row, first_column..end_column];
            let background = model.config().background;
            image.append_resized(&mut pixels, [height, width], part, background);
            let shape = [
                1,
                image.channels,
                end_row - first_row,
                end_column - first_column,
            ];
            let window = Tensor::from_data(TensorData::new(pixels, shape), &Device::flex());
            let [scores, sizes] = outputs(model, window)?;
            let heat = loss::heat(scores).try_into_vec_as::<f32>()?;
            let sizes = sizes.try_into_vec_as::<f32>()?;
            if !heat.iter().chain(&sizes).all(|value| value.is_finite()) {
                return Err(Error::NonFiniteOutput {
                    network: DETECTOR,
                    image: 0,
                });
            }
            let side = shape[3];
            let columns = left..(left + own).min(width);
            for row in top..(top + own).min(height) {
                let from = (row - first_row) * side + left - first_column;
                let to = row * width + columns.start..row * width + columns.end;
                maps.heat[to.clone()].copy_from_slice(&heat[from..][..columns.len()]);
                maps.sizes[to].copy_from_slice(&sizes[from..][..columns.len()]);
            }
        }
    }
    Ok(maps)
}

/// Labels of what was found in a large image, each in a part of it that holds all that its patch shows; keypoints are in
/// pixels as the detector sees them.
pub(super) fn large_labels(
    model: &Model,
    image: ImageView<'_>,
    found: &[ScoredKeypoint],
) -> Result<Vec<usize>, Error> {
    let scale = scale_of(model);
    let [height, width] = [image.height_px, image.width_px].map(|side| scaled(side, scale));
    let largest = found
        .iter()
        .map(|found| found.keypoint.scale)
        .fold(0.0, f32::max);
    let side_px = (model.config().geometry.shown_px() * largest).ceil() as usize + 4;
    let sides = [height, width].map(|whole_px| side_px.min(whole_px));
    let mut pixels = Vec::new();
    let mut moved = Vec::with_capacity(found.len());
    for found in found {
        let start = |centre_px: f32, side: usize, whole: usize| {
            let first = (centre_px as usize).saturating_sub(side / 2);
            first.min(whole - side)
        };
        let Keypoint { x_px, y_px, scale } = found.keypoint;
        let (top, left) = (start(y_px, sides[0], height), start(x_px, sides[1], width));
        let part = [top..top + sides[0], left..left + sides[1]];
        let background = model.config().background;
        image.append_resized(&mut pixels, [height, width], part, background);
        moved.push(vec![Keypoint {
            x_px: x_px - left as f32,
            y_px: y_px - top as f32,
            scale,
        }]);
    }
    let shape = [found.len(), image.channels, sides[0], sides[1]];
    let parts = Tensor::from_data(TensorData::new(pixels, shape), &Device::flex());
    model.labels(parts, &moved)
}
