//! Tensors by name, as files of weights hold them.

use std::collections::HashMap;

use safetensors::tensor::{Dtype, SafeTensors};

use crate::Error;

/// Tensors of f32 by name.
#[derive(Clone, Debug, Default)]
pub struct NamedWeights(HashMap<String, (Vec<usize>, Vec<f32>)>);

impl NamedWeights {
    /// Reads safetensors of f32 or f16.
    ///
    /// # Errors
    /// When the bytes are damaged, or a tensor is of another type.
    pub fn from_safetensors(bytes: &[u8]) -> Result<Self, Error> {
        let file = SafeTensors::deserialize(bytes)?;
        let mut weights = Self::default();
        for (name, view) in file.tensors() {
            let values = match view.dtype() {
                Dtype::F32 => f32s(view.data()),
                Dtype::F16 => f16s(view.data()),
                // Counters of batch norms.
                Dtype::I64 => continue,
                _ => return Err(Error::TensorType { name }),
            };
            weights.insert(name, view.shape().to_vec(), values);
        }
        Ok(weights)
    }

    /// Adds a tensor.
    pub fn insert(&mut self, name: String, shape: Vec<usize>, values: Vec<f32>) {
        self.0.insert(name, (shape, values));
    }

    /// Whether there is a tensor of a name.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The values of a tensor.
    ///
    /// # Errors
    /// When it is missing, of another shape, or holds values that are not finite.
    pub fn get(&self, name: &str, shape: &[usize]) -> Result<&[f32], Error> {
        let Some((actual, values)) = self.0.get(name) else {
            let name = name.to_owned();
            return Err(Error::MissingTensor { name });
        };
        if actual != shape || values.len() != shape.iter().product::<usize>() {
            return Err(Error::TensorShape {
                name: name.to_owned(),
                expected: shape.to_vec(),
                actual: actual.clone(),
            });
        }
        if !values.iter().all(|value| value.is_finite()) {
            let name = name.to_owned();
            return Err(Error::NonFiniteTensor { name });
        }
        Ok(values)
    }
}

fn f32s(bytes: &[u8]) -> Vec<f32> {
    let values = bytes.chunks_exact(4);
    values
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect()
}

fn f16s(bytes: &[u8]) -> Vec<f32> {
    let values = bytes.chunks_exact(2);
    values
        .map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f32())
        .collect()
}
