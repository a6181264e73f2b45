//! A [`Model`] under training.

use std::collections::BTreeMap;

use burn::tensor::{Device, Gradients, Tensor, TensorData};

use super::{LearnerState, NetworkState, Optimiser, Progress, Setup};
use crate::Error;
use crate::model::{DETECTOR, Model, TASK};
use crate::networks::NetworkModule;

/// A model on a device with autodiff, and the optimisers of its two networks.
#[derive(Debug)]
pub struct TrainedModel {
    /// The newest weights.
    pub model: Model,
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
        let model = setup.starting_model()?;
        let optimiser = |name| setup.optimisers.get(name);
        Ok(Self {
            detector: Optimiser::new(optimiser(DETECTOR), &model.heatmap.detector)?,
            task: Optimiser::new(optimiser(TASK), &model.task)?,
            model,
        })
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
    pub fn observe_input(&mut self, images: Tensor<4>) {
        let network = self.model.heatmap.detector.clone();
        self.model.heatmap.detector = network.observe_input(images);
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
        let detector = network_state(DETECTOR, &self.model.heatmap.detector, &self.detector)?;
        let task = network_state(TASK, &self.model.task, &self.task)?;
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
        self.model.heatmap.detector =
            restored(detector, &mut self.detector, state.take(DETECTOR)?)?;
        let task = self.model.task.clone();
        self.model.task = restored(task, &mut self.task, state.take(TASK)?)?;
        Ok(())
    }
}

const PARAMETERS: &str = "parameters";
const RUNNING_MEAN: &str = "running_mean";
const RUNNING_VARIANCE: &str = "running_variance";
const ADAM_MEANS: &str = "adam_means";
const ADAM_SQUARES: &str = "adam_squares";
const AVERAGE: &str = "average";

fn network_state(
    name: &str,
    network: &NetworkModule,
    optimiser: &Optimiser,
) -> Result<NetworkState, Error> {
    let (mean, variance) = network.running_statistics();
    let (optimiser_steps, means, squares) = optimiser.adam.state();
    let mut vectors = BTreeMap::from([
        (PARAMETERS.to_owned(), network.parameter_values()?),
        (RUNNING_MEAN.to_owned(), mean.try_into_vec_as::<f32>()?),
        (
            RUNNING_VARIANCE.to_owned(),
            variance.try_into_vec_as::<f32>()?,
        ),
        (ADAM_MEANS.to_owned(), means.to_vec()),
        (ADAM_SQUARES.to_owned(), squares.to_vec()),
    ]);
    if let Some(average) = &optimiser.average {
        vectors.insert(AVERAGE.to_owned(), average.clone());
    }
    Ok(NetworkState {
        name: name.to_owned(),
        optimiser_steps,
        vectors,
    })
}

fn restored(
    network: NetworkModule,
    optimiser: &mut Optimiser,
    mut state: NetworkState,
) -> Result<NetworkModule, Error> {
    let count = network.network().parameter_count();
    let channels = network.network().in_channels();
    let device = network.parameters.val().device();
    let tensor = |values: Vec<f32>| {
        let length = values.len();
        Tensor::<1>::from_data(TensorData::new(values, [length]), &device)
    };
    let means = state.take(ADAM_MEANS, count)?;
    let squares = state.take(ADAM_SQUARES, count)?;
    let parameters = state.take(PARAMETERS, count)?;
    let running_mean = state.take(RUNNING_MEAN, channels)?;
    let running_variance = state.take(RUNNING_VARIANCE, channels)?;
    if let Some(average) = &mut optimiser.average {
        *average = state.take(AVERAGE, count)?;
    }
    optimiser
        .adam
        .restore(state.optimiser_steps, means, squares);
    let network = network.with_parameters(tensor(parameters))?;
    Ok(network.with_running_statistics(tensor(running_mean), tensor(running_variance)))
}
