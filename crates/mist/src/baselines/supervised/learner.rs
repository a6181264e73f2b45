//! Supervised training behind the interface of all methods.

use burn::tensor::Device;

use super::SupervisedConfig;
use crate::Error;
use crate::finder::Finder;
use crate::model::{ModelConfig, TaskNetwork};
use crate::training::{Batch, Learner, LearnerState, Method, Progress, Setup, Step, TrainedModel};

/// A model that learns from true boxes.
#[derive(Debug)]
pub struct SupervisedLearner {
    config: SupervisedConfig,
    trained: TrainedModel,
    seed: u64,
}

impl Method for SupervisedConfig {
    fn name(&self) -> &'static str {
        "supervised"
    }

    fn networks(&self) -> &'static [&'static str] {
        TrainedModel::NETWORKS
    }

    fn check(&self, model: &ModelConfig) -> Result<(), Error> {
        if let TaskNetwork::Autoencoder { .. } = model.task {
            return Err(Error::Setting {
                name: "model.task",
                requirement: "a classifier for supervised training".into(),
            });
        }
        Self::check(self)
    }

    fn learner(&self, setup: Setup<'_>) -> Result<Box<dyn Learner>, Error> {
        Method::check(self, setup.model)?;
        Ok(Box::new(SupervisedLearner {
            config: *self,
            trained: TrainedModel::new(setup)?,
            seed: setup.seed,
        }))
    }
}

impl Learner for SupervisedLearner {
    fn step(&mut self, batch: &Batch, progress: Progress) -> Result<Step, Error> {
        if self.trained.model.features().is_some() {
            return super::photographs::step(&mut self.trained, batch, progress);
        }
        let base_box_px = self.trained.model.config().geometry.base_box_px;
        let (images, truths) = (batch.images.clone(), batch.truths()?);
        let step = self
            .config
            .step(&mut self.trained, images, truths, self.seed, progress)?;
        Ok(step.report(base_box_px))
    }

    fn state(&self) -> Result<LearnerState, Error> {
        self.trained.state()
    }

    fn restore(&mut self, mut state: LearnerState) -> Result<(), Error> {
        self.trained.restore(&mut state)
    }

    fn finder(&self, device: &Device) -> Result<Box<dyn Finder>, Error> {
        Ok(Box::new(self.trained.averaged(device)?))
    }
}
