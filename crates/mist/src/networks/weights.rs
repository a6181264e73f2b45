//! Named views of a network's flat parameters, as safetensors.

use std::borrow::Cow;
use std::collections::HashSet;

use burn::tensor::{Device, Tensor};
use mist_kernels::network::Network;
use safetensors::tensor::{Dtype, SafeTensors, View};

use super::NetworkModule;
use crate::Error;

const RUNNING_MEAN: &str = "input.running_mean";
const RUNNING_VARIANCE: &str = "input.running_variance";

/// A tensor of a weights file: shape and little-endian f32.
pub(crate) struct NamedTensor {
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl NamedTensor {
    /// A tensor of one dimension.
    pub fn vector(values: &[f32]) -> Self {
        Self {
            shape: vec![values.len()],
            bytes: bytes_of(values),
        }
    }
}

impl View for NamedTensor {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

impl NetworkModule {
    /// Serialises every parameter under its name, and the running input statistics where there are any.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn to_safetensors(&self) -> Result<Vec<u8>, Error> {
        Ok(safetensors::serialize(self.named_tensors("")?, None)?)
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
        let (module, known) = Self::from_named(network, &file, "", device)?;
        refuse_unknown(&file, &known)?;
        Ok(module)
    }

    /// The tensors of this network, their names behind `prefix`.
    pub(crate) fn named_tensors(&self, prefix: &str) -> Result<Vec<(String, NamedTensor)>, Error> {
        let named = |name: &str, shape, values: &[f32]| {
            let bytes = bytes_of(values);
            (full_name(prefix, name), NamedTensor { shape, bytes })
        };
        let flat = self.parameter_values()?;
        let specs = self.network().parameters();
        let mut tensors: Vec<_> = specs
            .into_iter()
            .map(|spec| {
                let values = &flat[spec.offset..spec.offset + spec.len()];
                named(&spec.name, spec.shape, values)
            })
            .collect();
        if self.network().normalises_input() {
            let (mean, variance) = self.running_statistics();
            for (name, tensor) in [(RUNNING_MEAN, mean), (RUNNING_VARIANCE, variance)] {
                let values = tensor.try_into_vec_as::<f32>()?;
                tensors.push(named(name, vec![values.len()], &values));
            }
        }
        Ok(tensors)
    }

    /// Reads the tensors behind `prefix`; returns their names too.
    pub(crate) fn from_named(
        network: Network,
        file: &SafeTensors,
        prefix: &str,
        device: &Device,
    ) -> Result<(Self, HashSet<String>), Error> {
        let mut known = HashSet::new();
        let mut read = |name: &str, shape: &[usize]| {
            let name = full_name(prefix, name);
            let values = finite_tensor(file, &name, shape);
            known.insert(name);
            values
        };
        let mut parameters = Vec::with_capacity(network.parameter_count());
        for spec in network.parameters() {
            parameters.extend(read(&spec.name, &spec.shape)?);
        }
        let statistics = if network.normalises_input() {
            let shape = [network.in_channels()];
            Some((read(RUNNING_MEAN, &shape)?, read(RUNNING_VARIANCE, &shape)?))
        } else {
            None
        };
        let module = Self::from_parameters(network, parameters, device)?;
        let tensor = |values: Vec<f32>| Tensor::<1>::from_data(values.as_slice(), device);
        let module = match statistics {
            Some((mean, variance)) => {
                module.with_running_statistics(tensor(mean), tensor(variance))
            }
            None => module,
        };
        Ok((module, known))
    }
}

/// A file with tensors that the network does not have belongs to another one.
pub(crate) fn refuse_unknown(file: &SafeTensors, known: &HashSet<String>) -> Result<(), Error> {
    let mut unknown: Vec<_> = file.names();
    unknown.retain(|name| !known.contains(*name));
    unknown.sort_unstable();
    match unknown.first() {
        Some(name) => Err(Error::UnknownTensor {
            name: (*name).to_owned(),
        }),
        None => Ok(()),
    }
}

fn full_name(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}.{name}")
    }
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// Norms square what they see: where squares are infinite, outputs become zeros that pass for results.
fn is_computable(value: f32) -> bool {
    (value * value).is_finite()
}

pub(crate) fn finite_tensor(
    file: &SafeTensors,
    name: &str,
    shape: &[usize],
) -> Result<Vec<f32>, Error> {
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
    if values.iter().all(|&value| is_computable(value)) {
        Ok(values)
    } else {
        Err(Error::NonFiniteTensor {
            name: name.to_owned(),
        })
    }
}
