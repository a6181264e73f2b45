//! Training behind the interface of all methods.

use burn::tensor::{Device, Int, Tensor, TensorData};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::counted::CountedLearner;
use super::detector::DetectorStep;
use super::{CentreModel, CentresConfig, views};
use crate::Error;
use crate::backbone::Backbone;
use crate::finder::Finder;
use crate::geometry::Keypoint;
use crate::keypoints;
use crate::model::{Model, ModelConfig, TaskNetwork};
use crate::networks::InputStatistics;
use crate::sample::sample;
use crate::training::{
    Batch, Learner, LearnerState, Method, Panel, Progress, Setup, Step, TrainedModel,
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
        let seed = setup.seed;
        let counts = matches!(setup.model.task, TaskNetwork::Classifier { .. });
        let trained = TrainedModel::new(setup)?;
        Ok(match counts {
            true => Box::new(CountedLearner::new(*self, trained, seed)),
            false => Box::new(CentresLearner {
                config: *self,
                trained,
                seed,
            }),
        })
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
    fn seen(&self, images: Tensor<4>, random: &mut ChaCha8Rng) -> Result<Seen, Error> {
        let model = &self.trained.model;
        let images = views::seen(model, images)?;
        let base_box_px = model.config().geometry.base_box_px;
        let (mut seen, mut keypoints, mut start) = (Vec::new(), Vec::new(), Vec::new());
        for planes in views::planes(images.clone())? {
            let objects = self
                .config
                .discs
                .objects(&views::gray(&planes), base_box_px);
            let augmentation = &self.config.augmentation;
            let (planes, moved) = augmentation.apply(&planes, &objects, base_box_px, random);
            seen.push(planes);
            keypoints.push(moved);
            start.push(objects.keypoints);
        }
        Ok(Seen {
            images: views::to_tensor(&seen, images.dims(), &images.device()),
            keypoints,
            start,
        })
    }

    /// T learns to redraw some objects of each image that has any; returns the error of a pixel.
    fn task_stage(
        &mut self,
        seen: &Seen,
        random: &mut ChaCha8Rng,
        progress: Progress,
    ) -> Result<f32, Error> {
        let device = seen.images.device();
        let (mut images, mut chosen) = (Vec::new(), Vec::new());
        for (index, keypoints) in (0..).zip(&seen.keypoints) {
            if !keypoints.is_empty() {
                images.push(index);
                let draw = |_| keypoints[random.random_range(0..keypoints.len())];
                chosen.push((0..self.config.patches).map(draw).collect());
            }
        }
        if images.is_empty() {
            return Ok(0.0);
        }
        let count = images.len();
        let indices = Tensor::<1, Int>::from_data(TensorData::new(images, [count]), &device);
        let geometry = self.trained.model.config().geometry;
        let points = keypoints::to_tensor(&chosen, &device)?;
        let patches = sample(seen.images.clone().select(0, indices), points, geometry)?;
        let [batch, instances, channels, height, width] = patches.dims();
        let patches = patches.reshape([batch * instances, channels, height, width]);
        let task = &self.trained.model.task;
        let redrawn = task.forward(patches.clone(), InputStatistics::Running)?;
        let loss = (redrawn - patches).square().mean();
        self.trained.step_task(&loss.backward(), progress)?;
        Ok(loss.inner().into_scalar())
    }
}

impl Learner for CentresLearner {
    fn step(&mut self, batch: &Batch, progress: Progress) -> Result<Step, Error> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(progress.step);
        let seen = self.seen(batch.images.clone(), &mut random)?;
        let task_loss = self.task_stage(&seen, &mut random, progress)?;
        let images = seen.images.clone();
        let taken = DetectorStep::take(
            &mut self.trained,
            &self.config,
            images,
            &seen.keypoints,
            progress,
        )?;
        let start = views::in_image(&self.trained.model, &seen.start);
        let base_box_px = self.trained.model.config().geometry.base_box_px;
        let mut panels = vec![Panel::keypoints("discs", &start, base_box_px)];
        let measurements = taken.measurements(task_loss);
        panels.extend(taken.panels());
        Ok(Step {
            measurements,
            panels,
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
