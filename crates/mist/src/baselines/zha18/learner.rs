//! Gradient descent on the sum of the four losses.

use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, Tensor, TensorData};

use super::landmarks::{Landmarks, gaussian_maps, separation_loss};
use super::networks::{Networks, Part, WIDTHS};
use super::warp::ThinPlates;
use super::{Zha18Config, Zha18Finder};
use crate::Error;
use crate::backbone::Backbone;
use crate::baselines::named_networks::TrainedNetworks;
use crate::baselines::noise::Noise;
use crate::finder::Finder;
use crate::measurements::Measurements;
use crate::model::ModelConfig;
use crate::training::{
    Batch, Learner, LearnerState, Method, Panel, PanelContent, Progress, Setup, Step,
};

/// The networks under training, with an optimiser each.
#[derive(Debug)]
pub struct Zha18Learner {
    config: Zha18Config,
    model: ModelConfig,
    trained: TrainedNetworks,
    plates: ThinPlates,
    seed: u64,
}

impl Method for Zha18Config {
    fn name(&self) -> &'static str {
        "zha18"
    }

    fn networks(&self) -> &'static [&'static str] {
        Networks::NAMES
    }

    fn check(&self, model: &ModelConfig) -> Result<(), Error> {
        Self::check(self, model)
    }

    fn learner(&self, setup: Setup<'_>) -> Result<Box<dyn Learner>, Error> {
        Self::check(self, setup.model)?;
        Ok(Box::new(Zha18Learner {
            config: *self,
            model: setup.model.clone(),
            trained: Networks::under_training(self, setup)?,
            plates: ThinPlates::new(self.canvas_px),
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
        Ok(Box::new(Zha18Finder::new(*self, model, networks)))
    }
}

impl Learner for Zha18Learner {
    fn step(&mut self, batch: &Batch, progress: Progress) -> Result<Step, Error> {
        let config = &self.config;
        let networks = Networks(self.trained.networks.clone());
        let images = on_canvas(batch.images.clone(), config.canvas_px)?;
        let [count, channels, ..] = images.dims();
        let mut noise = Noise::of_step(self.seed, progress.step);
        let warp = self.plates.draw(&config.warp, count, &mut noise);
        let pixels = images.clone().try_into_vec_as::<f32>()?;
        let warped = self.plates.apply(&warp, &pixels, channels);
        let warped = TensorData::new(warped, images.dims());
        let warped = Tensor::<4>::from_data(warped, &images.device());

        let responses = networks.run(Part::Landmarks, images.clone())?;
        let landmarks = Landmarks::of(responses);
        let of_warped = Landmarks::of(networks.run(Part::Landmarks, warped)?);
        let spread = landmarks.variances.clone().sum_dim(1);
        let concentration = spread.mean() * f64::from(std::f32::consts::TAU * std::f32::consts::E);
        let separation =
            separation_loss(landmarks.places.clone(), config.separation_deviation).mean();
        let astray = (warp.map(of_warped.places) - landmarks.places.clone()).square();
        let equivariance = astray.sum_dim(2).sum_dim(1).mean();
        let redrawn = redraw(config, &networks, images.clone(), &landmarks)?;
        let missed = (images - redrawn.clone()).square();
        let reconstruction = missed.flatten::<2>(1, 3).sum_dim(1).mean();

        let loss = concentration.clone() * config.concentration
            + separation.clone() * config.separation
            + equivariance.clone() * config.equivariance
            + reconstruction.clone() * config.reconstruction_at(progress.step);
        let gradients = loss.backward();
        self.trained.step(&gradients, progress)?;
        let named = [
            ("task_loss", loss),
            ("concentration", concentration),
            ("separation", separation),
            ("equivariance", equivariance),
            ("reconstruction", reconstruction),
        ];
        let measurements = named.map(|(name, value)| {
            let value: f32 = value.inner().into_scalar();
            (name, f64::from(value))
        });
        let panels = vec![Panel {
            name: "redrawn",
            content: PanelContent::Images(redrawn.inner()),
        }];
        Ok(Step {
            measurements: measurements.into_iter().collect::<Measurements>(),
            panels,
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
        Ok(Box::new(Zha18Finder::new(
            self.config,
            &self.model,
            networks,
        )))
    }
}

/// Images in the middle of an empty canvas.
pub(super) fn on_canvas(images: Tensor<4>, canvas_px: usize) -> Result<Tensor<4>, Error> {
    let [_, _, height, width] = images.dims();
    let (Some(down), Some(across)) = (canvas_px.checked_sub(height), canvas_px.checked_sub(width))
    else {
        return Err(Error::Mismatch {
            what: "sides of the images, which `canvas_px` bounds,",
            expected: vec![canvas_px; 2],
            actual: vec![height, width],
        });
    };
    let (left, top) = (across / 2, down / 2);
    Ok(images.pad((left, across - left, top, down - top), 0.0))
}

/// The images as the decoder redraws them from landmarks: `[batch, channels, canvas_px, canvas_px]`.
pub(super) fn redraw(
    config: &Zha18Config,
    networks: &Networks,
    images: Tensor<4>,
    landmarks: &Landmarks,
) -> Result<Tensor<4>, Error> {
    let [batch, _, height, width] = images.dims();
    let features = networks.run(Part::Features, images)?;
    let features = features.flatten::<3>(2, 3).swap_dims(1, 2);
    let pooled = landmarks.shares.clone().matmul(features);
    let [_, count, units] = pooled.dims();
    let pooled = pooled.reshape([batch * count, units, 1, 1]);
    let codes = networks.run(Part::Code, pooled)?;
    let codes = codes.reshape([batch, count, config.code_units]);
    let mut maps = Vec::with_capacity(2 * WIDTHS);
    let mut deviation = config.map_deviation;
    for _ in 0..WIDTHS {
        let shares = gaussian_maps(landmarks.places.clone(), deviation, height, width);
        let objects = shares.clone().narrow(1, 0, count);
        maps.extend([shares, codes.clone().swap_dims(1, 2).matmul(objects)]);
        deviation *= std::f32::consts::SQRT_2;
    }
    let maps = Tensor::cat(maps, 1);
    let channels = maps.dims()[1];
    let maps = maps.reshape([batch, channels, height, width]);
    Ok(sigmoid(networks.run(Part::Decoder, maps)?))
}
