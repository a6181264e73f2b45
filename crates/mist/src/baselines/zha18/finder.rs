//! What the method finds: a box of one size around each landmark.

use burn::tensor::Tensor;

use super::Zha18Config;
use super::landmarks::Landmarks;
use super::learner::{on_canvas, redraw};
use super::networks::{Networks, Part};
use crate::Error;
use crate::finder::Finder;
use crate::geometry::{Detection, Keypoint};
use crate::model::ModelConfig;

/// A trained network of landmarks.
#[derive(Clone, Debug)]
pub struct Zha18Finder {
    config: Zha18Config,
    model: ModelConfig,
    networks: Networks,
}

impl Zha18Finder {
    pub(super) fn new(config: Zha18Config, model: &ModelConfig, networks: Networks) -> Self {
        Self {
            config,
            model: model.clone(),
            networks,
        }
    }

    fn landmarks(&self, canvas: Tensor<4>) -> Result<Landmarks, Error> {
        Ok(Landmarks::of(self.networks.run(Part::Landmarks, canvas)?))
    }
}

impl Finder for Zha18Finder {
    fn channels(&self) -> usize {
        self.model.image_channels()
    }

    fn instances(&self) -> usize {
        self.model.extractor.instances
    }

    fn classes(&self) -> Option<usize> {
        None
    }

    fn find(&self, images: Tensor<4>, k: &[usize]) -> Result<Vec<Vec<Detection>>, Error> {
        let [_, _, height, width] = images.dims();
        let side = self.config.canvas_px;
        let landmarks = self.landmarks(on_canvas(images, side)?)?;
        let count = landmarks.places.dims()[1];
        let places = landmarks.places.try_into_vec_as::<f32>()?;
        let masses = landmarks.masses.try_into_vec_as::<f32>()?;
        let landmarks = Part::Landmarks as usize;
        self.networks
            .0
            .refuse_non_finite(landmarks, &places, k.len())?;
        let margin_px = [width, height].map(|px| ((side - px) / 2) as f32);
        let images = places
            .chunks_exact(2 * count)
            .zip(masses.chunks_exact(count));
        let found = images.zip(k).map(|((places, masses), &most)| {
            let mut found: Vec<Detection> = places
                .chunks_exact(2)
                .zip(masses)
                .map(|(place, &mass)| {
                    let keypoint = Keypoint {
                        x_px: place[0] * side as f32 - margin_px[0],
                        y_px: place[1] * side as f32 - margin_px[1],
                        scale: 1.0,
                    };
                    Detection {
                        bounds: keypoint.to_box(self.model.geometry.base_box_px),
                        label: 0,
                        // A landmark without pixels is no object.
                        score: mass / (mass + 1.0),
                    }
                })
                .collect();
            found.sort_by(|a, b| b.score.total_cmp(&a.score));
            found.truncate(most);
            found
        });
        Ok(found.collect())
    }

    /// From all landmarks, whatever was found.
    fn redraw(&self, images: Tensor<4>, _: &[Vec<Detection>]) -> Result<Option<Tensor<4>>, Error> {
        let [_, _, height, width] = images.dims();
        let side = self.config.canvas_px;
        let canvas = on_canvas(images, side)?;
        let landmarks = self.landmarks(canvas.clone())?;
        let redrawn = redraw(&self.config, &self.networks, canvas, &landmarks)?;
        let redrawn =
            redrawn
                .narrow(2, (side - height) / 2, height)
                .narrow(3, (side - width) / 2, width);
        Ok(Some(redrawn))
    }

    fn to_safetensors(&self) -> Result<Vec<u8>, Error> {
        self.networks.0.to_safetensors()
    }
}
