//! Weights in the files of `torch.save`.

use std::path::Path;

use mist::backbone::NamedWeights;
use pytorch_reader::{DType, PytorchReader};

use crate::error::{Error, Result};

/// The tensors of a checkpoint of PyTorch, zip or legacy; nothing in it is executed.
///
/// # Errors
/// When the file is damaged.
pub(super) fn of_pytorch(path: &Path) -> Result<NamedWeights> {
    let damaged = |error: &dyn std::fmt::Display| Error::input(path, error);
    let reader = PytorchReader::new(path).map_err(|error| damaged(&error))?;
    let mut weights = NamedWeights::default();
    for (name, tensor) in reader.tensors() {
        let size = match tensor.dtype() {
            DType::F32 => 4,
            DType::F16 => 2,
            // Counters of batch norms.
            _ => continue,
        };
        let bytes = tensor.read().map_err(|error| damaged(&error))?;
        let values = bytes.chunks_exact(size).map(|bytes| match *bytes {
            [a, b, c, d] => f32::from_ne_bytes([a, b, c, d]),
            [a, b] => half::f16::from_ne_bytes([a, b]).to_f32(),
            _ => f32::NAN,
        });
        weights.insert(name.clone(), tensor.shape().to_vec(), values.collect());
    }
    Ok(weights)
}
