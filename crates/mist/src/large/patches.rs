//! What the task network and pictures need of a large image.

use burn::tensor::{Device, Tensor, TensorData};

use super::heat::Sum;
use super::{ImageView, LargeSearch};
use crate::Error;
use crate::extract::{ScoredKeypoint, Selection};
use crate::geometry::{Detection, Keypoint};
use crate::model::Model;

/// Keypoints whose patches are read at once.
const BATCH: usize = 256;

impl LargeSearch {
    /// What a model finds in an image.
    ///
    /// # Errors
    /// As [`Finder::find`](crate::finder::Finder::find).
    pub fn find(
        &self,
        model: &Model,
        image: ImageView<'_>,
        selection: Selection,
    ) -> Result<Vec<Detection>, Error> {
        check(model, image)?;
        let found = self.locate(model, image, selection)?;
        let mut detections = Vec::with_capacity(found.len());
        for found in found.chunks(BATCH) {
            detections.extend(label(model, image, found)?);
        }
        Ok(detections)
    }

    /// H of an image, the sum over its scales, `height_px * width_px` values.
    ///
    /// # Errors
    /// As [`LargeSearch::find`].
    pub fn heatmap(&self, model: &Model, image: ImageView<'_>) -> Result<Vec<f32>, Error> {
        check(model, image)?;
        let scores = self.scores(model, image)?;
        Ok(self.heat(model, &scores, image, Sum::Levels)?.responses)
    }
}

fn check(model: &Model, image: ImageView<'_>) -> Result<(), Error> {
    let channels = model.config().image_channels();
    let expected = channels * image.height_px * image.width_px;
    if image.channels == channels && image.pixels.len() == expected && expected > 0 {
        return Ok(());
    }
    Err(Error::Mismatch {
        what: "an image as [channels, height, width]",
        expected: vec![channels, image.height_px, image.width_px],
        actual: vec![image.channels, image.pixels.len()],
    })
}

/// Labels keypoints, each in a part of the image that holds all that its patch shows.
fn label(
    model: &Model,
    image: ImageView<'_>,
    found: &[ScoredKeypoint],
) -> Result<Vec<Detection>, Error> {
    let largest = found
        .iter()
        .map(|found| found.keypoint.scale)
        .fold(0.0, f32::max);
    let side_px = (model.config().geometry.shown_px() * largest).ceil() as usize + 4;
    let sides = [image.height_px, image.width_px].map(|whole_px| side_px.min(whole_px));
    let start = |centre_px: f32, side: usize, whole: usize| {
        (centre_px as usize)
            .saturating_sub(side / 2)
            .min(whole - side)
    };
    let mut pixels = Vec::new();
    let mut moved = Vec::with_capacity(found.len());
    for found in found {
        let Keypoint { x_px, y_px, scale } = found.keypoint;
        let top = start(y_px, sides[0], image.height_px);
        let left = start(x_px, sides[1], image.width_px);
        image.append_part(&mut pixels, top..top + sides[0], left..left + sides[1], 0.0);
        let keypoint = Keypoint {
            x_px: x_px - left as f32,
            y_px: y_px - top as f32,
            scale,
        };
        moved.push(vec![ScoredKeypoint { keypoint, ..*found }]);
    }
    let data = TensorData::new(pixels, [found.len(), image.channels, sides[0], sides[1]]);
    let parts = Tensor::from_data(data, &model_device(model));
    let labelled = model.label(parts, &moved)?;
    let place = |(found, labelled): (&ScoredKeypoint, Vec<Detection>)| {
        let label = labelled.first()?.label;
        Some(model.detection(found, label))
    };
    Ok(found.iter().zip(labelled).filter_map(place).collect())
}

fn model_device(model: &Model) -> Device {
    model.task.parameters.val().device()
}
