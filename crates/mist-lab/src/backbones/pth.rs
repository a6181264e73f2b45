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

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by `python/golden/pth.py` with PyTorch 2.15.
    fn fixture(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures/pth")
            .join(name)
    }

    #[test]
    fn both_forms_of_files_give_the_same_tensors() {
        for name in ["zip.pth", "legacy.pth"] {
            let weights = of_pytorch(&fixture(name)).unwrap();
            let eighths: Vec<f32> = (0..12).map(|value| value as f32 / 8.0).collect();
            assert_eq!(weights.get("conv1.weight", &[2, 3, 2, 1]).unwrap(), eighths);
            assert_eq!(weights.get("bn1.running_var", &[2]).unwrap(), [1.5, 2.5]);
            assert_eq!(weights.get("half", &[2]).unwrap(), [0.5, -2.0]);
            assert_eq!(weights.get("view", &[3]).unwrap(), [2.0, 3.0, 4.0]);
            let transposed = weights.get("transposed", &[3, 2]).unwrap();
            assert_eq!(transposed, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
            assert!(!weights.has("bn1.num_batches_tracked"));
        }
    }

    #[test]
    fn truncated_files_are_errors() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["zip.pth", "legacy.pth"] {
            let bytes = std::fs::read(fixture(name)).unwrap();
            for length in [0, 10, bytes.len() / 2, bytes.len() - 40] {
                let path = directory.path().join(name);
                std::fs::write(&path, &bytes[..length]).unwrap();
                let read = of_pytorch(&path);
                let is_whole = read.is_ok_and(|weights| {
                    weights.get("half", &[2]).is_ok() && weights.get("transposed", &[3, 2]).is_ok()
                });
                assert!(!is_whole, "{name}, {length} bytes");
            }
        }
    }
}
