//! Gradient descent on the negative lower bound.

use burn::tensor::{Device, Tensor};

use super::attend::{Attention, geometry};
use super::networks::Networks;
use super::{Esl16Config, Esl16Finder};
use crate::Error;
use crate::backbone::Backbone;
use crate::baselines::named_networks::TrainedNetworks;
use crate::baselines::noise::Noise;
use crate::finder::Finder;
use crate::keypoints;
use crate::measurements::Measurements;
use crate::model::ModelConfig;
use crate::training::{
    Batch, Learner, LearnerState, Method, Panel, PanelContent, Progress, Setup, Step,
};

/// Keeps logarithms finite.
const LEAST_PROBABILITY: f32 = 1e-6;

/// The networks under training, with an optimiser each.
#[derive(Debug)]
pub struct Esl16Learner {
    config: Esl16Config,
    model: ModelConfig,
    trained: TrainedNetworks,
    seed: u64,
}

impl Method for Esl16Config {
    fn name(&self) -> &'static str {
        "esl16"
    }

    fn networks(&self) -> &'static [&'static str] {
        Networks::NAMES
    }

    fn check(&self, model: &ModelConfig) -> Result<(), Error> {
        Self::check(self, model)
    }

    fn learner(&self, setup: Setup<'_>) -> Result<Box<dyn Learner>, Error> {
        Self::check(self, setup.model)?;
        Ok(Box::new(Esl16Learner {
            config: *self,
            model: setup.model.clone(),
            trained: Networks::under_training(self, setup)?,
            seed: setup.seed,
        }))
    }

    fn load(
        &self,
        model: &ModelConfig,
        weights: &[u8],
        _: Option<&Backbone>,
        device: &Device,
    ) -> Result<Box<dyn Finder>, Error> {
        let networks = Networks::from_safetensors(self, model, weights, device)?;
        Ok(Box::new(Esl16Finder::new(*self, model, networks)))
    }
}

impl Learner for Esl16Learner {
    fn step(&mut self, batch: &Batch, progress: Progress) -> Result<Step, Error> {
        let images = batch.images.clone();
        let networks = Networks(self.trained.networks.clone());
        let attention = Attention {
            config: &self.config,
            networks: &networks,
            geometry: geometry(&self.config, self.model.geometry.patch_px),
            steps: self.model.extractor.instances,
            prior_log_odds: self.config.presence.log_odds(progress.step),
        };
        let mut noise = Noise::of_step(self.seed, progress.step);
        let attended = attention.run(images.clone(), &mut noise)?;
        let likelihood = log_likelihood(images, attended.redrawn.clone());
        let divergence = attended.divergence.mean();
        let loss = divergence.clone() - likelihood.clone().mean();
        let gradients = loss.backward();
        self.trained.step(&gradients, progress)?;
        let [loss, divergence] = [loss, divergence].map(|value| {
            let value: f32 = value.inner().into_scalar();
            f64::from(value)
        });
        let mut boxes = vec![Vec::new(); batch.images.dims()[0]];
        for glimpse in attended.glimpses {
            let present = glimpse.presence.inner().try_into_vec_as::<f32>()?;
            let found = keypoints::from_tensor(glimpse.keypoints.inner())?;
            for ((boxes, found), present) in boxes.iter_mut().zip(found).zip(present) {
                boxes.extend(found.into_iter().filter(|_| present > 0.5));
            }
        }
        let objects = boxes.iter().map(Vec::len).sum::<usize>() as f64 / boxes.len().max(1) as f64;
        let redrawn = attended.redrawn.inner().clamp(0.0, 1.0);
        Ok(Step {
            measurements: Measurements::new()
                .with("task_loss", loss)
                .with("divergence", divergence)
                .with("objects", objects),
            panels: vec![
                Panel::keypoints("found", &boxes, self.config.canvas_px as f32),
                Panel {
                    name: "redrawn",
                    content: PanelContent::Images(redrawn),
                },
            ],
        })
    }

    fn state(&self) -> Result<LearnerState, Error> {
        self.trained.state()
    }

    fn restore(&mut self, state: LearnerState) -> Result<(), Error> {
        self.trained.restore(state)
    }

    fn finder(&self, device: &Device) -> Result<Box<dyn Finder>, Error> {
        let networks = Networks(self.trained.averaged(device)?);
        Ok(Box::new(Esl16Finder::new(
            self.config,
            &self.model,
            networks,
        )))
    }
}

/// Logarithm of a Bernoulli probability of every pixel, summed: `[batch, 1]`.
fn log_likelihood(images: Tensor<4>, redrawn: Tensor<4>) -> Tensor<2> {
    let ink = redrawn.clamp(LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY);
    let paper = (ink.clone().neg() + 1.0).log();
    let per_pixel = images.clone() * ink.log() + (images.neg() + 1.0) * paper;
    per_pixel.flatten::<2>(1, 3).sum_dim(1)
}
