//! The smallest method: one number that learns the mean brightness of images, and boxes in the image's corner.
//!
//! It shows what a new method needs, and that recipes, the loop, checkpoints, logs and evaluation know nothing of
//! detectors and task networks.

use std::collections::BTreeMap;

use burn::tensor::{Device, Tensor};
use mist::Error;
use mist::backbone::Backbone;
use mist::finder::Finder;
use mist::geometry::{Detection, PixelBox};
use mist::measurements::Measurements;
use mist::model::ModelConfig;
use mist::training::{
    Batch, Learner, LearnerState, Method, NetworkState, Panel, Progress, Setup, Step,
};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};

/// Settings of the toy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToyConfig {
    /// Share of the way to the mean that one step takes.
    pub learning_rate: f32,
}

impl Default for ToyConfig {
    fn default() -> Self {
        Self { learning_rate: 0.5 }
    }
}

/// The number under training, and what it becomes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Toy {
    config: ToyConfig,
    brightness: f32,
}

const NETWORK: &str = "brightness";

impl Method for ToyConfig {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn networks(&self) -> &'static [&'static str] {
        &[NETWORK]
    }

    fn check(&self, _: &ModelConfig) -> Result<(), Error> {
        Ok(())
    }

    fn learner(&self, setup: Setup<'_>) -> Result<Box<dyn Learner>, Error> {
        let brightness = (setup.seed % 100) as f32;
        let config = *self;
        Ok(Box::new(Toy { config, brightness }))
    }

    fn load(
        &self,
        _: &ModelConfig,
        weights: &[u8],
        _: Option<&Backbone>,
        _: &Device,
    ) -> Result<Box<dyn Finder>, Error> {
        let file = SafeTensors::deserialize(weights)?;
        let bytes = file.tensor(NETWORK)?.data().try_into();
        let brightness = f32::from_le_bytes(bytes.unwrap_or_default());
        let config = *self;
        Ok(Box::new(Toy { config, brightness }))
    }
}

impl Learner for Toy {
    fn step(&mut self, batch: &Batch, progress: Progress) -> Result<Step, Error> {
        let mean: f32 = batch.images.clone().inner().mean().into_scalar();
        let error = mean - self.brightness;
        self.brightness += self.config.learning_rate * error;
        let measurements = Measurements::new()
            .with("brightness_error", f64::from(error.abs()))
            .with("progress", progress.step as f64);
        Ok(Step {
            measurements,
            panels: vec![Panel::heatmaps("inverted", 1.0 - batch.images.clone())],
        })
    }

    fn state(&self) -> Result<LearnerState, Error> {
        Ok(LearnerState {
            networks: vec![NetworkState {
                name: NETWORK.to_owned(),
                optimiser_steps: 0,
                vectors: BTreeMap::from([("value".to_owned(), vec![self.brightness])]),
            }],
            memory: serde_json::json!({ "note": "remembered" }),
        })
    }

    fn restore(&mut self, mut state: LearnerState) -> Result<(), Error> {
        self.brightness = state.take(NETWORK)?.take("value", 1)?[0];
        Ok(())
    }

    fn finder(&self, _: &Device) -> Result<Box<dyn Finder>, Error> {
        Ok(Box::new(*self))
    }
}

impl Finder for Toy {
    fn channels(&self) -> usize {
        1
    }

    fn instances(&self) -> usize {
        1
    }

    fn classes(&self) -> Option<usize> {
        None
    }

    fn find(&self, _: Tensor<4>, k: &[usize]) -> Result<Vec<Vec<Detection>>, Error> {
        let corner = Detection {
            bounds: PixelBox::from_centre(10.0, 10.0, 20.0, 20.0),
            label: 0,
            score: self.brightness,
        };
        Ok(k.iter().map(|&k| vec![corner; k.min(1)]).collect())
    }

    fn to_safetensors(&self) -> Result<Vec<u8>, Error> {
        let bytes = self.brightness.to_le_bytes();
        let value = TensorView::new(Dtype::F32, vec![1], &bytes)?;
        Ok(safetensors::serialize([(NETWORK, value)], None)?)
    }
}
