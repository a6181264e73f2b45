//! A network and its optimiser as a state to resume from.

use std::collections::BTreeMap;

use burn::tensor::{Device, Tensor, TensorData};

use super::{NetworkState, Optimiser};
use crate::Error;
use crate::networks::NetworkModule;

const PARAMETERS: &str = "parameters";
const RUNNING_MEAN: &str = "running_mean";
const RUNNING_VARIANCE: &str = "running_variance";
const ADAM_MEANS: &str = "adam_means";
const ADAM_SQUARES: &str = "adam_squares";
const AVERAGE: &str = "average";

impl Optimiser {
    /// A network with this optimiser and its average.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn network_state(
        &self,
        name: &str,
        network: &NetworkModule,
    ) -> Result<NetworkState, Error> {
        let (mean, variance) = network.running_statistics();
        let (optimiser_steps, means, squares) = self.adam.state();
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
        if let Some(average) = &self.average {
            vectors.insert(AVERAGE.to_owned(), average.clone());
        }
        Ok(NetworkState {
            name: name.to_owned(),
            optimiser_steps,
            vectors,
        })
    }

    /// Goes back to what [`Optimiser::network_state`] gave, and returns the network.
    ///
    /// # Errors
    /// When the state belongs to another network.
    pub fn restore(
        &mut self,
        network: NetworkModule,
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
        if let Some(average) = &mut self.average {
            *average = state.take(AVERAGE, count)?;
        }
        self.adam.restore(state.optimiser_steps, means, squares);
        let network = network.with_parameters(tensor(parameters))?;
        Ok(network.with_running_statistics(tensor(running_mean), tensor(running_variance)))
    }

    /// The network to evaluate and to ship: averaged weights where an average is kept, on a device of choice.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn averaged(
        &self,
        network: &NetworkModule,
        device: &Device,
    ) -> Result<NetworkModule, Error> {
        let weights = self.average.clone();
        let weights = weights.map_or_else(|| network.parameter_values(), Ok)?;
        NetworkModule::from_parameters(network.network().clone(), weights, device)
    }
}
