//! A model under training.

use burn::tensor::{Device, Gradients, Tensor};

use super::{Optimiser, OptimiserConfig, Progress};
use crate::Error;
use crate::model::Model;

/// A model on a device with autodiff, and the optimisers of its two networks.
#[derive(Debug)]
pub struct Trainee {
    /// The newest weights.
    pub model: Model,
    pub(super) detector: Optimiser,
    pub(super) task: Optimiser,
}

impl Trainee {
    /// Starts training a model.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn new(
        model: Model,
        detector: OptimiserConfig,
        task: OptimiserConfig,
    ) -> Result<Self, Error> {
        Ok(Self {
            detector: Optimiser::new(detector, &model.heatmap.detector)?,
            task: Optimiser::new(task, &model.task)?,
            model,
        })
    }

    /// Moves the task network at its rate.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn move_task(&mut self, gradients: &Gradients, progress: Progress) -> Result<(), Error> {
        let network = self.model.task.clone();
        self.model.task = self.task.step(network, gradients, progress)?;
        Ok(())
    }

    /// Whether the detector does not move at this point, so that its gradients need not be computed.
    pub fn detector_rests(&self, progress: Progress) -> bool {
        self.detector.rests(progress)
    }

    /// Moves the detector at its rate.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn move_detector(
        &mut self,
        gradients: &Gradients,
        progress: Progress,
    ) -> Result<(), Error> {
        let network = self.model.heatmap.detector.clone();
        self.model.heatmap.detector = self.detector.step(network, gradients, progress)?;
        Ok(())
    }

    /// Moves the detector's running input statistics towards those of a batch.
    pub fn observe(&mut self, images: Tensor<4>) {
        let network = self.model.heatmap.detector.clone();
        self.model.heatmap.detector = network.observe_input(images);
    }

    /// The model to evaluate and to ship: averaged weights where an average is kept, on a device of choice.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn evaluated(&self, device: &Device) -> Result<Model, Error> {
        self.model.copy_with(
            self.detector.average.clone(),
            self.task.average.clone(),
            device,
        )
    }
}
