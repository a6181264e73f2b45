//! A [`Model`] under training.

use burn::tensor::{Device, Gradients, Tensor, TensorData};

use super::{LearnerState, Optimiser, Progress, Setup};
use crate::Error;
use crate::model::{DETECTOR, Model, TASK};
use crate::ranks::Ranks;

/// A model on a device with autodiff, and the optimisers of its two networks.
#[derive(Debug)]
pub struct TrainedModel {
    /// The newest weights.
    pub model: Model,
    ranks: Ranks,
    detector: Optimiser,
    task: Optimiser,
}

impl TrainedModel {
    /// Names of its networks.
    pub const NETWORKS: &'static [&'static str] = &[DETECTOR, TASK];

    /// Starts training a model.
    ///
    /// # Errors
    /// When the settings are impossible or the device cannot be read.
    pub fn new(setup: Setup<'_>) -> Result<Self, Error> {
        setup.optimisers.check(Self::NETWORKS)?;
        let mut model = setup.starting_model()?;
        model.heatmap.detector = model.heatmap.detector.among(setup.ranks)?;
        model.task = model.task.among(setup.ranks)?;
        let optimiser = |name| setup.optimisers.get(name);
        Ok(Self {
            detector: Optimiser::new(optimiser(DETECTOR), &model.heatmap.detector)?,
            task: Optimiser::new(optimiser(TASK), &model.task)?,
            ranks: setup.ranks.clone(),
            model,
        })
    }

    /// The ranks that train it.
    pub fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// Moves the task network along its gradients.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn step_task(&mut self, gradients: &Gradients, progress: Progress) -> Result<(), Error> {
        self.step_task_at(gradients, progress, 1.0)
    }

    /// As [`TrainedModel::step_task`], at a share of the scheduled learning rate.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn step_task_at(
        &mut self,
        gradients: &Gradients,
        progress: Progress,
        rate_frac: f32,
    ) -> Result<(), Error> {
        let network = self.model.task.clone();
        self.model.task = self.task.step(network, gradients, progress, rate_frac)?;
        Ok(())
    }

    /// Whether the detector does not move at this step, so that its gradients need not be computed.
    pub fn detector_is_frozen(&self, progress: Progress) -> bool {
        self.detector.is_frozen(progress)
    }

    /// Moves the detector along its gradients.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn step_detector(
        &mut self,
        gradients: &Gradients,
        progress: Progress,
    ) -> Result<(), Error> {
        let network = self.model.heatmap.detector.clone();
        self.model.heatmap.detector = self.detector.step(network, gradients, progress, 1.0)?;
        Ok(())
    }

    /// Gives the detector its averaged weights, where an average is kept; again as often as one likes.
    ///
    /// # Errors
    /// When the average belongs to another network.
    pub fn settle_detector(&mut self) -> Result<(), Error> {
        if let Some(average) = &self.detector.average {
            let detector = self.model.heatmap.detector.clone();
            let device = detector.parameters.val().device();
            let values = TensorData::new(average.clone(), [average.len()]);
            self.model.heatmap.detector =
                detector.with_parameters(Tensor::from_data(values, &device))?;
        }
        Ok(())
    }

    /// Moves the detector's running input statistics towards those of a batch `[batch, channels, height, width]`.
    ///
    /// # Errors
    /// As [`crate::networks::NetworkModule::observe_input`].
    pub fn observe_input(&mut self, images: Tensor<4>) -> Result<(), Error> {
        let network = self.model.heatmap.detector.clone();
        self.model.heatmap.detector = network.observe_input(images)?;
        Ok(())
    }

    /// The model to evaluate and to ship: averaged weights where an average is kept, on a device of choice.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn averaged(&self, device: &Device) -> Result<Model, Error> {
        self.model.copy_with(
            self.detector.average.clone(),
            self.task.average.clone(),
            device,
        )
    }

    /// Both networks with their optimisers.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn state(&self) -> Result<LearnerState, Error> {
        let detector = self
            .detector
            .network_state(DETECTOR, &self.model.heatmap.detector)?;
        let task = self.task.network_state(TASK, &self.model.task)?;
        Ok(LearnerState {
            networks: vec![detector, task],
            memory: serde_json::Value::Null,
        })
    }

    /// Goes back to what [`TrainedModel::state`] gave, for a model of the same settings.
    ///
    /// # Errors
    /// When the state belongs to another model.
    pub fn restore(&mut self, state: &mut LearnerState) -> Result<(), Error> {
        let detector = self.model.heatmap.detector.clone();
        self.model.heatmap.detector = self.detector.restore(detector, state.take(DETECTOR)?)?;
        let task = self.model.task.clone();
        self.model.task = self.task.restore(task, state.take(TASK)?)?;
        Ok(())
    }
}
