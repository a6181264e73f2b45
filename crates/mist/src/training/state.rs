//! All that a training needs to go on to the bit, as bytes.

use std::collections::HashMap;

use burn::tensor::{Tensor, TensorData};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use super::{Optimiser, Trainee};
use crate::Error;
use crate::networks::NetworkModule;

/// Key of the [`Counters`], as JSON.
const COUNTERS: &str = "counters";

/// Steps taken, by the training and by each optimiser.
#[derive(Serialize, Deserialize)]
struct Counters {
    step: u64,
    detector: u32,
    task: u32,
}

/// Names of one network's vectors.
struct Names {
    parameters: String,
    running_mean: String,
    running_variance: String,
    adam_means: String,
    adam_squares: String,
    average: String,
}

impl Names {
    fn of(network: &str) -> Self {
        let name = |part: &str| format!("{network}.{part}");
        Self {
            parameters: name("parameters"),
            running_mean: name("running_mean"),
            running_variance: name("running_variance"),
            adam_means: name("adam_means"),
            adam_squares: name("adam_squares"),
            average: name("average"),
        }
    }
}

impl Trainee {
    /// Weights, statistics and optimisers after `step` steps, as safetensors.
    ///
    /// # Errors
    /// When a value is not finite, so that nobody goes on from it, or the device cannot be read.
    pub fn to_bytes(&self, step: u64) -> Result<Vec<u8>, Error> {
        let mut vectors: Vec<(String, Vec<f32>)> = Vec::new();
        let counters = Counters {
            step,
            detector: self.detector.adam.state().0,
            task: self.task.adam.state().0,
        };
        let counters = serde_json::to_string(&counters).unwrap_or_default();
        let model = &self.model;
        for (name, network, optimiser) in [
            ("detector", &model.heatmap.detector, &self.detector),
            ("task", &model.task, &self.task),
        ] {
            let names = Names::of(name);
            let (mean, variance) = network.running_statistics();
            let (_, means, squares) = optimiser.adam.state();
            vectors.push((names.parameters, network.parameter_values()?));
            vectors.push((names.running_mean, mean.try_into_vec_as::<f32>()?));
            vectors.push((names.running_variance, variance.try_into_vec_as::<f32>()?));
            vectors.push((names.adam_means, means.to_vec()));
            vectors.push((names.adam_squares, squares.to_vec()));
            if let Some(average) = &optimiser.average {
                vectors.push((names.average, average.clone()));
            }
        }
        let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
        if let Some((name, _)) = vectors.iter().find(|(_, values)| !finite(values)) {
            return Err(Error::NonFiniteTensor { name: name.clone() });
        }
        let bytes: Vec<(String, Vec<u8>)> = vectors
            .into_iter()
            .map(|(name, values)| {
                let bytes = values.iter().flat_map(|value| value.to_le_bytes());
                (name, bytes.collect())
            })
            .collect();
        let views = bytes
            .iter()
            .map(|(name, bytes)| {
                Ok((
                    name,
                    TensorView::new(Dtype::F32, vec![bytes.len() / 4], bytes)?,
                ))
            })
            .collect::<Result<Vec<_>, Error>>()?;
        Ok(safetensors::serialize(
            views,
            Some(HashMap::from([(COUNTERS.to_owned(), counters)])),
        )?)
    }

    /// Goes back to what [`Trainee::to_bytes`] wrote, for a trainee of the same settings; returns the step.
    ///
    /// # Errors
    /// When the bytes are damaged or belong to another model.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<u64, Error> {
        let (_, header) = SafeTensors::read_metadata(bytes)?;
        let file = SafeTensors::deserialize(bytes)?;
        let counters = header.metadata().as_ref();
        let counters = counters.and_then(|numbers| numbers.get(COUNTERS));
        let counters: Counters = counters
            .and_then(|text| serde_json::from_str(text).ok())
            .ok_or_else(|| missing(COUNTERS))?;
        let detector = self.model.heatmap.detector.clone();
        self.model.heatmap.detector = restored(
            detector,
            &mut self.detector,
            &file,
            "detector",
            counters.detector,
        )?;
        let task = self.model.task.clone();
        self.model.task = restored(task, &mut self.task, &file, "task", counters.task)?;
        Ok(counters.step)
    }
}

fn restored(
    network: NetworkModule,
    optimiser: &mut Optimiser,
    file: &SafeTensors,
    name: &str,
    steps: u32,
) -> Result<NetworkModule, Error> {
    let names = Names::of(name);
    let count = network.network().parameter_count();
    let channels = network.network().in_channels;
    let device = network.parameters.val().device();
    let tensor = |values: Vec<f32>| {
        let length = values.len();
        Tensor::<1>::from_data(TensorData::new(values, [length]), &device)
    };
    let means = vector(file, &names.adam_means, count)?;
    let squares = vector(file, &names.adam_squares, count)?;
    let parameters = vector(file, &names.parameters, count)?;
    let running_mean = vector(file, &names.running_mean, channels)?;
    let running_variance = vector(file, &names.running_variance, channels)?;
    if let Some(average) = &mut optimiser.average {
        *average = vector(file, &names.average, count)?;
    }
    optimiser.adam.restore(steps, means, squares);
    let network = network.with_parameters(tensor(parameters))?;
    Ok(network.with_running_statistics(tensor(running_mean), tensor(running_variance)))
}

fn vector(file: &SafeTensors, name: &str, length: usize) -> Result<Vec<f32>, Error> {
    let view = file.tensor(name).map_err(|_| missing(name))?;
    if view.dtype() != Dtype::F32 || view.shape() != [length] {
        return Err(Error::TensorShape {
            name: name.to_owned(),
            expected: vec![length],
            actual: view.shape().to_vec(),
        });
    }
    let values = view.data().chunks_exact(4);
    Ok(values
        .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        .collect())
}

fn missing(name: &str) -> Error {
    Error::MissingTensor {
        name: name.to_owned(),
    }
}
