//! The method behind the interface of all methods.

use burn::tensor::{Device, Tensor, TensorData};

use super::Xie20Config;
use crate::Error;
use crate::finder::Finder;
use crate::model::ModelConfig;
use crate::training::{Batch, Learner, LearnerState, Method, Progress, Setup, Step, TrainedModel};

/// A model that learns through masks.
#[derive(Debug)]
pub struct Xie20Learner {
    config: Xie20Config,
    trained: TrainedModel,
}

impl Method for Xie20Config {
    fn name(&self) -> &'static str {
        "xie20"
    }

    fn networks(&self) -> &'static [&'static str] {
        TrainedModel::NETWORKS
    }

    fn check(&self, model: &ModelConfig) -> Result<(), Error> {
        if model.backbone.is_none() {
            return Err(Error::Setting {
                name: "model.backbone",
                requirement:
                    "given: every place of a heatmap is classified, so that it must be coarse"
                        .into(),
            });
        }
        Self::check(self)
    }

    fn learner(&self, setup: Setup<'_>) -> Result<Box<dyn Learner>, Error> {
        Method::check(self, setup.model)?;
        let mut trained = TrainedModel::new(setup)?;
        if setup.weights.is_none() {
            without_offsets(&mut trained)?;
        }
        Ok(Box::new(Xie20Learner {
            config: *self,
            trained,
        }))
    }
}

/// The masks teach a response alone: offsets start at zero, and stay there.
fn without_offsets(trained: &mut TrainedModel) -> Result<(), Error> {
    let detector = trained.model.heatmap.detector.clone();
    let device = detector.parameters.val().device();
    let mut values = detector.parameter_values()?;
    let specs = detector.network().parameters();
    for spec in specs.iter().rev().take(2) {
        let kept = spec.len() / 3;
        values[spec.offset + kept..spec.offset + spec.len()].fill(0.0);
    }
    let length = values.len();
    let values = Tensor::from_data(TensorData::new(values, [length]), &device);
    trained.model.heatmap.detector = detector.with_parameters(values)?;
    Ok(())
}

impl Learner for Xie20Learner {
    fn step(&mut self, batch: &Batch, progress: Progress) -> Result<Step, Error> {
        let source = self.trained.model.source_of(batch)?;
        let classes = self.trained.model.config().task.classes().unwrap_or(0);
        let mean_labels = batch.mean_labels(classes)?;
        let trained = &mut self.trained;
        self.config.step(trained, &source, mean_labels, progress)
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
