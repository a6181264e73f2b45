//! A [`LocatedModel`] under training.

use burn::tensor::{Device, Gradients};

use super::{LocatedModel, Locator};
use crate::Error;
use crate::model::{DETECTOR, TASK};
use crate::training::{LearnerState, Optimiser, Progress, Setup};

/// A model on a device with autodiff, and the optimisers of its networks.
#[derive(Debug)]
pub struct TrainedLocated<L> {
    /// The newest weights.
    pub model: LocatedModel<L>,
    detector: Option<Optimiser>,
    task: Optimiser,
}

impl<L: Locator> TrainedLocated<L> {
    /// Starts training a model.
    ///
    /// # Errors
    /// When the settings are impossible or the device cannot be read.
    pub fn new(locator: L, setup: Setup<'_>) -> Result<Self, Error> {
        let (config, device) = (setup.model, setup.device);
        let model = match setup.weights {
            Some(weights) => LocatedModel::from_safetensors(locator, config, weights, device)?,
            None => LocatedModel::init(locator, config, setup.seed, device)?,
        };
        let detector = model.detector.as_ref();
        let detector =
            detector.map(|network| Optimiser::new(setup.optimisers.get(DETECTOR), network));
        Ok(Self {
            detector: detector.transpose()?,
            task: Optimiser::new(setup.optimisers.get(TASK), &model.task)?,
            model,
        })
    }

    /// Moves the networks along the gradients of one loss.
    ///
    /// # Errors
    /// When no gradient reached a network, or the device cannot be read.
    pub fn step(&mut self, gradients: &Gradients, progress: Progress) -> Result<(), Error> {
        let task = self.model.task.clone();
        self.model.task = self.task.step(task, gradients, progress, 1.0)?;
        if let (Some(optimiser), Some(detector)) = (&mut self.detector, &mut self.model.detector)
            && !optimiser.is_frozen(progress)
        {
            *detector = optimiser.step(detector.clone(), gradients, progress, 1.0)?;
        }
        Ok(())
    }

    /// The model to evaluate and to ship: averaged weights where an average is kept, on a device of choice.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn averaged(&self, device: &Device) -> Result<LocatedModel<L>, Error> {
        let mut model = self.model.clone();
        model.task = self.task.averaged(&model.task, device)?;
        if let (Some(optimiser), Some(detector)) = (&self.detector, &mut model.detector) {
            *detector = optimiser.averaged(detector, device)?;
        }
        Ok(model)
    }

    /// The networks with their optimisers.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn state(&self) -> Result<LearnerState, Error> {
        let mut networks = Vec::new();
        if let (Some(optimiser), Some(detector)) = (&self.detector, &self.model.detector) {
            networks.push(optimiser.network_state(DETECTOR, detector)?);
        }
        networks.push(self.task.network_state(TASK, &self.model.task)?);
        Ok(LearnerState {
            networks,
            memory: serde_json::Value::Null,
        })
    }

    /// Goes back to what [`TrainedLocated::state`] gave, for a model of the same settings.
    ///
    /// # Errors
    /// When the state belongs to another model.
    pub fn restore(&mut self, mut state: LearnerState) -> Result<(), Error> {
        if let (Some(optimiser), Some(detector)) = (&mut self.detector, &mut self.model.detector) {
            *detector = optimiser.restore(detector.clone(), state.take(DETECTOR)?)?;
        }
        let task = self.model.task.clone();
        self.model.task = self.task.restore(task, state.take(TASK)?)?;
        Ok(())
    }
}
