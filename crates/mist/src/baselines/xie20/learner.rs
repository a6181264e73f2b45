//! The method behind the interface of all methods.

use burn::tensor::{Device, Tensor};

use super::photographs::without_offsets;
use super::{Moment, Xie20Config};
use crate::Error;
use crate::backbone::Backbone;
use crate::baselines::located::{LocatedModel, TrainedLocated};
use crate::finder::Finder;
use crate::measurements::Measurements;
use crate::model::{Model, ModelConfig};
use crate::training::{Batch, Learner, LearnerState, Method, Progress, Setup, Step, TrainedModel};

/// A model that learns through masks.
#[derive(Debug)]
pub struct Xie20Learner {
    config: Xie20Config,
    trained: Trained,
    seed: u64,
}

/// What the masks cover.
#[derive(Debug)]
enum Trained {
    Photographs(TrainedModel),
    Regions(TrainedLocated<Xie20Config>),
}

impl Method for Xie20Config {
    fn name(&self) -> &'static str {
        "xie20"
    }

    fn networks(&self) -> &'static [&'static str] {
        TrainedModel::NETWORKS
    }

    fn check(&self, model: &ModelConfig) -> Result<(), Error> {
        Self::check(self, model)
    }

    fn learner(&self, setup: Setup<'_>) -> Result<Box<dyn Learner>, Error> {
        Self::check(self, setup.model)?;
        setup.optimisers.check(self.networks())?;
        let trained = match &setup.model.backbone {
            Some(_) => {
                let mut trained = TrainedModel::new(setup)?;
                if setup.weights.is_none() {
                    without_offsets(&mut trained)?;
                }
                Trained::Photographs(trained)
            }
            None => Trained::Regions(TrainedLocated::new(*self, setup)?),
        };
        Ok(Box::new(Xie20Learner {
            config: *self,
            trained,
            seed: setup.seed,
        }))
    }

    fn finder_has_settings(&self) -> bool {
        true
    }

    fn load(
        &self,
        model: &ModelConfig,
        weights: &[u8],
        backbone: Option<&Backbone>,
        device: &Device,
    ) -> Result<Box<dyn Finder>, Error> {
        if model.backbone.is_none() {
            let model = LocatedModel::from_safetensors(*self, model, weights, device)?;
            return Ok(Box::new(model));
        }
        let model = Model::from_safetensors_with(model.clone(), weights, backbone, device)?;
        Ok(Box::new(model))
    }
}

impl Xie20Learner {
    fn loss(&self, batch: &Batch, moment: Moment) -> Result<Tensor<1>, Error> {
        let labels = |config: &ModelConfig| batch.mean_labels(config.task.classes().unwrap_or(0));
        match &self.trained {
            Trained::Photographs(trained) => {
                let source = trained.model.source_of(batch)?;
                let mean_labels = labels(trained.model.config())?;
                self.config
                    .loss_of_photographs(trained, &source, mean_labels, moment)
            }
            Trained::Regions(trained) => {
                let config = trained.model.config();
                let images = config.foreground(batch.images.clone());
                self.config
                    .loss_of_regions(&trained.model, images, labels(config)?, moment)
            }
        }
    }
}

impl Learner for Xie20Learner {
    fn step(&mut self, batch: &Batch, progress: Progress) -> Result<Step, Error> {
        let seed = self.seed;
        let loss = self.loss(batch, Moment { seed, progress })?;
        let gradients = loss.backward();
        match &mut self.trained {
            Trained::Photographs(trained) => {
                trained.step_task(&gradients, progress)?;
                trained.step_detector(&gradients, progress)?;
            }
            Trained::Regions(trained) => trained.step(&gradients, progress)?,
        }
        let loss: f32 = loss.inner().into_scalar();
        Ok(Step {
            measurements: Measurements::new().with("task_loss", f64::from(loss)),
            panels: Vec::new(),
        })
    }

    fn state(&self) -> Result<LearnerState, Error> {
        match &self.trained {
            Trained::Photographs(trained) => trained.state(),
            Trained::Regions(trained) => trained.state(),
        }
    }

    fn restore(&mut self, mut state: LearnerState) -> Result<(), Error> {
        match &mut self.trained {
            Trained::Photographs(trained) => trained.restore(&mut state),
            Trained::Regions(trained) => trained.restore(state),
        }
    }

    fn finder(&self, device: &Device) -> Result<Box<dyn Finder>, Error> {
        Ok(match &self.trained {
            Trained::Photographs(trained) => Box::new(trained.averaged(device)?),
            Trained::Regions(trained) => Box::new(trained.averaged(device)?),
        })
    }
}
