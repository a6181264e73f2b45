//! Training whose one loss, the task's, moves everything: keypoints have a gradient.

use burn::tensor::{Device, Tensor};

use super::{Locator, TrainedLocated};
use crate::Error;
use crate::finder::Finder;
use crate::keypoints;
use crate::lifted::{Classification, Reconstruction, Task};
use crate::loss::MeanDistance;
use crate::measurements::Measurements;
use crate::model::ModelConfig;
use crate::sample::sample;
use crate::training::{Batch, Learner, LearnerState, Panel, Progress, Setup, Step};

/// A locator whose keypoints follow gradients, or need none.
pub trait EndToEnd: Locator {
    /// The K keypoints of each image, `[batch, K, 3]`.
    ///
    /// # Errors
    /// As [`Locator::locate`].
    fn keypoints(
        &self,
        model: &ModelConfig,
        images: &Tensor<4>,
        maps: Option<Tensor<4>>,
    ) -> Result<Tensor<3>, Error>;

    /// How a classifier's mean prediction is compared with the mean label.
    fn mean_distance(&self) -> MeanDistance;
}

/// A model that learns along the gradient of its task loss.
#[derive(Debug)]
pub struct EndToEndLearner<L>(TrainedLocated<L>);

impl<L: EndToEnd> EndToEndLearner<L> {
    /// Starts a training.
    ///
    /// # Errors
    /// As [`TrainedLocated::new`].
    pub fn new(locator: L, setup: Setup<'_>) -> Result<Self, Error> {
        TrainedLocated::new(locator, setup).map(Self)
    }

    fn losses(
        &self,
        batch: &Batch,
        images: &Tensor<4>,
        points: Tensor<3>,
    ) -> Result<Tensor<1>, Error> {
        let model = &self.0.model;
        let geometry = model.config().geometry;
        let patches = sample(images.clone(), points.clone(), geometry)?;
        match model.config().task.classes() {
            Some(classes) => {
                let task = Classification {
                    mean_labels: batch.mean_labels(classes)?,
                    distance: model.locator.mean_distance(),
                };
                task.loss(&model.task, images, patches, points)
            }
            None => Reconstruction { geometry }.loss(&model.task, images, patches, points),
        }
    }
}

impl<L: EndToEnd> Learner for EndToEndLearner<L> {
    fn step(&mut self, batch: &Batch, progress: Progress) -> Result<Step, Error> {
        let model = &self.0.model;
        let config = model.config();
        let base_box_px = config.geometry.base_box_px;
        let images = config.foreground(batch.images.clone());
        let maps = model.maps(images.clone())?;
        let points = model.locator.keypoints(config, &images, maps)?;
        let found = keypoints::from_tensor(points.clone().inner())?;
        let loss = self.losses(batch, &images, points)?.mean();
        self.0.step(&loss.backward(), progress)?;
        let loss: f32 = loss.inner().into_scalar();
        Ok(Step {
            measurements: Measurements::new().with("task_loss", f64::from(loss)),
            panels: vec![Panel::keypoints("keypoints", &found, base_box_px)],
        })
    }

    fn state(&self) -> Result<LearnerState, Error> {
        self.0.state()
    }

    fn restore(&mut self, state: LearnerState) -> Result<(), Error> {
        self.0.restore(state)
    }

    fn finder(&self, device: &Device) -> Result<Box<dyn Finder>, Error> {
        Ok(Box::new(self.0.averaged(device)?))
    }
}
