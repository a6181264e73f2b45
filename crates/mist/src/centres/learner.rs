//! Training behind the interface of all methods.

use burn::tensor::{Device, Tensor, TensorData};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::maps::resized;
use super::targets::Targets;
use super::{CentreModel, CentresConfig, loss};
use crate::Error;
use crate::backbone::Backbone;
use crate::finder::Finder;
use crate::geometry::Keypoint;
use crate::keypoints;
use crate::measurements::Measurements;
use crate::model::{Model, ModelConfig};
use crate::networks::InputStatistics;
use crate::proposals::Plane;
use crate::sample::sample;
use crate::training::{
    Batch, Learner, LearnerState, Method, Panel, PanelContent, Progress, Setup, Step, TrainedModel,
    random_of_image,
};

/// A model that learns from discs.
#[derive(Debug)]
pub struct CentresLearner {
    config: CentresConfig,
    trained: TrainedModel,
    seed: u64,
}

impl Method for CentresConfig {
    fn name(&self) -> &'static str {
        "centres"
    }

    fn networks(&self) -> &'static [&'static str] {
        TrainedModel::NETWORKS
    }

    fn check(&self, model: &ModelConfig) -> Result<(), Error> {
        Self::check(self, model)
    }

    fn learner(&self, setup: Setup<'_>) -> Result<Box<dyn Learner>, Error> {
        Self::check(self, setup.model)?;
        Ok(Box::new(CentresLearner {
            config: *self,
            trained: TrainedModel::new(setup)?,
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
        let model = Model::from_safetensors(model.clone(), weights, device)?;
        Ok(Box::new(CentreModel(model)))
    }
}

/// A batch as H and T see it.
struct Seen {
    images: Tensor<4>,
    keypoints: Vec<Vec<Keypoint>>,
    /// Before images were changed.
    start: Vec<Vec<Keypoint>>,
}

impl CentresLearner {
    /// Discs of every image, and the image changed together with them.
    fn seen(&self, images: Tensor<4>, random: &mut [ChaCha8Rng]) -> Result<Seen, Error> {
        let device = images.device();
        let model = &self.trained.model;
        let images = resized(model, model.foreground(images))?;
        let [batch, _, height, width] = images.dims();
        let multiple = model.config().detector.side_multiple_px();
        let sides = [height, width].map(|side| side / multiple * multiple);
        let images = images.narrow(2, 0, sides[0]).narrow(3, 0, sides[1]);
        let values = images.try_into_vec_as::<f32>()?;
        let base_box_px = model.config().geometry.base_box_px;
        let (mut seen, mut keypoints, mut start) = (Vec::new(), Vec::new(), Vec::new());
        let images = values.chunks_exact((sides[0] * sides[1]).max(1));
        for (image, random) in images.zip(random) {
            let plane = Plane {
                values: image.to_vec(),
                width_px: sides[1],
            };
            let objects = self.config.discs.objects(&plane, base_box_px);
            let augmentation = &self.config.augmentation;
            let (plane, moved) = augmentation.apply(&plane, &objects, base_box_px, random);
            seen.extend(plane.values);
            keypoints.push(moved);
            start.push(objects.keypoints);
        }
        let data = TensorData::new(seen, [batch, 1, sides[0], sides[1]]);
        Ok(Seen {
            images: Tensor::from_data(data, &device),
            keypoints,
            start,
        })
    }

    /// T learns to redraw some objects of each image that has any; returns the error of a pixel.
    fn task_stage(
        &mut self,
        seen: &Seen,
        random: &mut [ChaCha8Rng],
        progress: Progress,
    ) -> Result<f32, Error> {
        let ranks = self.trained.ranks().clone();
        let device = seen.images.device();
        let own: Vec<f32> = seen
            .keypoints
            .iter()
            .map(|image| f32::from(!image.is_empty()))
            .collect();
        let images = ranks.total(&own)?;
        if images == 0.0 {
            return Ok(0.0);
        }
        // An image without objects shows something that counts for nothing, so that all ranks have equally many patches.
        let nothing = [Keypoint {
            x_px: 0.0,
            y_px: 0.0,
            scale: 1.0,
        }];
        let chosen: Vec<Vec<Keypoint>> = seen
            .keypoints
            .iter()
            .zip(random)
            .map(|(keypoints, random)| {
                let keypoints = if keypoints.is_empty() {
                    &nothing[..]
                } else {
                    keypoints
                };
                let draw = |_| keypoints[random.random_range(0..keypoints.len())];
                (0..self.config.patches).map(draw).collect()
            })
            .collect();
        let geometry = self.trained.model.config().geometry;
        let points = keypoints::to_tensor(&chosen, &device)?;
        let patches = sample(seen.images.clone(), points, geometry)?;
        let [batch, instances, channels, height, width] = patches.dims();
        let values = instances * channels * height * width;
        let patches = patches.reshape([batch * instances, channels, height, width]);
        let task = &self.trained.model.task;
        let redrawn = task.forward(patches.clone(), InputStatistics::Running)?;
        let errors = (redrawn - patches).square().reshape([batch, values]);
        let own = Tensor::<2>::from_data(TensorData::new(own, [batch, 1]), &device);
        let losses = (errors.mean_dim(1) * own).reshape([batch]);
        let loss = losses.clone().sum() / images;
        self.trained.step_task(&loss.backward(), progress)?;
        let losses = losses.detach().try_into_vec_as::<f32>()?;
        Ok((ranks.total(&losses)? / images) as f32)
    }
}

impl Learner for CentresLearner {
    fn step(&mut self, batch: &Batch, progress: Progress) -> Result<Step, Error> {
        let ranks = self.trained.ranks().clone();
        let own = batch.images.dims()[0];
        let images = ranks.rank() * own..(ranks.rank() + 1) * own;
        let mut random: Vec<ChaCha8Rng> = images
            .map(|image| random_of_image(self.seed, progress.step, image))
            .collect();
        let seen = self.seen(batch.images.clone(), &mut random)?;
        let task_loss = self.task_stage(&seen, &mut random, progress)?;
        let model = &self.trained.model;
        let [_, _, height, width] = seen.images.dims();
        let detector = &model.heatmap.detector;
        let output = detector.forward(seen.images.clone(), InputStatistics::Batch)?;
        let (scores, sizes) = (output.clone().narrow(1, 0, 1), output.narrow(1, 1, 1));
        let base_box_px = model.config().geometry.base_box_px;
        let spread_px = |scale: f32| scale * base_box_px * self.config.spread_frac;
        let device = seen.images.device();
        let targets = Targets::new(&seen.keypoints, [height, width], spread_px, &device);
        let heat = loss::heat(scores.clone().detach().inner());
        let losses = loss::losses(scores, sizes, &targets, self.config.focus);
        let objects = ranks.total(&[targets.objects as f32])?.max(1.0);
        let sized_px = ranks.total(&[targets.sized_px as f32])?.max(1.0);
        let [heat_losses, size_losses] = losses;
        let heat_loss = heat_losses.clone().sum() / objects;
        let size_loss = size_losses.clone().sum() / sized_px;
        let sum = heat_loss + size_loss * self.config.size_weight;
        self.trained.step_detector(&sum.backward(), progress)?;
        let total = |losses: Tensor<1>| ranks.total(&losses.detach().try_into_vec_as::<f32>()?);
        let scale = self.trained.model.config().scales.values()[0];
        let in_image = |keypoint: &Keypoint| Keypoint {
            x_px: keypoint.x_px * scale,
            y_px: keypoint.y_px * scale,
            scale: keypoint.scale * scale,
        };
        let start: Vec<Vec<Keypoint>> = seen
            .start
            .iter()
            .map(|image| image.iter().map(in_image).collect())
            .collect();
        Ok(Step {
            measurements: Measurements::new()
                .with("task_loss", f64::from(task_loss))
                .with("heatmap_loss", total(heat_losses)? / objects)
                .with("size_loss", total(size_losses)? / sized_px),
            panels: vec![
                Panel::keypoints("discs", &start, base_box_px),
                Panel {
                    name: "seen",
                    content: PanelContent::Images(seen.images.inner()),
                },
                Panel::heatmaps("heatmap", heat),
                Panel::heatmaps("target", targets.heat.inner()),
            ],
        })
    }

    fn state(&self) -> Result<LearnerState, Error> {
        self.trained.state()
    }

    fn restore(&mut self, mut state: LearnerState) -> Result<(), Error> {
        self.trained.restore(&mut state)
    }

    fn finder(&self, device: &Device) -> Result<Box<dyn Finder>, Error> {
        Ok(Box::new(CentreModel(self.trained.averaged(device)?)))
    }
}
