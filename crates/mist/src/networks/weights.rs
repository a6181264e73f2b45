//! Named views of a network's flat parameters, as safetensors.

use std::collections::HashMap;

use burn::tensor::Device;
use mist_kernels::network::Network;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use super::NetworkModule;
use crate::Error;

const RUNNING_MEAN: &str = "input.running_mean";
const RUNNING_VARIANCE: &str = "input.running_variance";

impl NetworkModule {
    /// Serialises every parameter under its name, and the running input statistics where there are any.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn to_safetensors(&self) -> Result<Vec<u8>, Error> {
        let flat = read_back(self.parameters.val())?;
        let specs = self.network().parameters();
        let mut named: Vec<(String, Vec<usize>, Vec<u8>)> = specs
            .into_iter()
            .map(|spec| {
                let values = &flat[spec.offset..spec.offset + spec.len()];
                (spec.name, spec.shape, bytes_of(values))
            })
            .collect();
        if self.network().normalises_input() {
            let (mean, variance) = self.running_statistics();
            for (name, tensor) in [(RUNNING_MEAN, mean), (RUNNING_VARIANCE, variance)] {
                let values = read_back(tensor)?;
                named.push((name.to_owned(), vec![values.len()], bytes_of(&values)));
            }
        }
        let views = named
            .iter()
            .map(|(name, shape, bytes)| {
                Ok((name, TensorView::new(Dtype::F32, shape.clone(), bytes)?))
            })
            .collect::<Result<Vec<_>, Error>>()?;
        Ok(safetensors::serialize(views, None)?)
    }

    /// Reads what [`NetworkModule::to_safetensors`] wrote; every tensor must be there, with its shape, and finite.
    ///
    /// # Errors
    /// When the bytes are damaged or belong to another network.
    pub fn from_safetensors(
        network: Network,
        bytes: &[u8],
        device: &Device,
    ) -> Result<Self, Error> {
        let file = SafeTensors::deserialize(bytes)?;
        let mut expected: HashMap<String, Vec<usize>> = HashMap::new();
        let mut parameters = Vec::with_capacity(network.parameter_count());
        for spec in network.parameters() {
            parameters.extend(finite_tensor(&file, &spec.name, &spec.shape)?);
            expected.insert(spec.name, spec.shape);
        }
        let mut statistics = None;
        if network.normalises_input() {
            let shape = vec![network.in_channels];
            let mean = finite_tensor(&file, RUNNING_MEAN, &shape)?;
            let variance = finite_tensor(&file, RUNNING_VARIANCE, &shape)?;
            expected.insert(RUNNING_MEAN.to_owned(), shape.clone());
            expected.insert(RUNNING_VARIANCE.to_owned(), shape);
            statistics = Some((mean, variance));
        }
        let mut unknown: Vec<_> = file.names();
        unknown.retain(|name| !expected.contains_key(*name));
        unknown.sort_unstable();
        if let Some(name) = unknown.first() {
            return Err(Error::UnknownTensor {
                name: (*name).to_owned(),
            });
        }
        let module = Self::from_parameters(network, parameters, device)?;
        Ok(match statistics {
            Some((mean, variance)) => {
                let tensor =
                    |values: Vec<f32>| burn::tensor::Tensor::from_data(values.as_slice(), device);
                module.with_running_statistics(tensor(mean), tensor(variance))
            }
            None => module,
        })
    }
}

fn read_back(tensor: burn::tensor::Tensor<1>) -> Result<Vec<f32>, Error> {
    Ok(tensor.try_into_vec_as::<f32>()?)
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn finite_tensor(file: &SafeTensors, name: &str, shape: &[usize]) -> Result<Vec<f32>, Error> {
    let view = file.tensor(name).map_err(|_| Error::MissingTensor {
        name: name.to_owned(),
    })?;
    if view.dtype() != Dtype::F32 || view.shape() != shape {
        return Err(Error::TensorShape {
            name: name.to_owned(),
            expected: shape.to_vec(),
            actual: view.shape().to_vec(),
        });
    }
    let values: Vec<f32> = view
        .data()
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        .collect();
    if values.iter().all(|value| value.is_finite()) {
        Ok(values)
    } else {
        Err(Error::NonFiniteTensor {
            name: name.to_owned(),
        })
    }
}
