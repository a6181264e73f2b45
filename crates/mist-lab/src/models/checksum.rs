//! A checksum in the header of a weights file, so that it stays with the file wherever it is copied.

use safetensors::SafeTensors;
use sha2::{Digest, Sha256};

/// Key in the header's metadata.
const KEY: &str = "sha256";

/// A safetensors file that holds a checksum of its tensors, beside what its header says already.
pub fn sealed(weights: &[u8]) -> Result<Vec<u8>, mist::Error> {
    let file = SafeTensors::deserialize(weights)?;
    let (_, header) = SafeTensors::read_metadata(weights)?;
    let mut metadata = header.metadata().clone().unwrap_or_default();
    metadata.insert(KEY.to_owned(), of_tensors(&file));
    Ok(safetensors::serialize(file.tensors(), Some(metadata))?)
}

/// Whether the tensors are those that the checksum was made of; files from before there were checksums have none.
pub fn is_intact(weights: &[u8]) -> Result<bool, mist::Error> {
    let file = SafeTensors::deserialize(weights)?;
    let (_, header) = SafeTensors::read_metadata(weights)?;
    let expected = header
        .metadata()
        .as_ref()
        .and_then(|metadata| metadata.get(KEY));
    Ok(expected.is_none_or(|expected| *expected == of_tensors(&file)))
}

/// SHA-256 of some bytes, in hexadecimal.
pub fn of_bytes(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Over names, shapes and values, in order of the names.
fn of_tensors(file: &SafeTensors) -> String {
    let mut tensors = file.tensors();
    tensors.sort_by(|(left, _), (right, _)| left.cmp(right));
    let mut digest = Sha256::new();
    for (name, tensor) in tensors {
        let shape = (tensor.dtype(), tensor.shape());
        digest.update(format!("{name} {shape:?}\n"));
        digest.update(tensor.data());
    }
    hexadecimal(&digest.finalize())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn a_sealed_file_keeps_its_header_and_notices_a_flipped_bit() {
        let header = HashMap::from([("format".to_owned(), "pt".to_owned())]);
        let bytes = [1.0_f32, 2.0].map(f32::to_le_bytes).concat();
        let tensor = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![2], &bytes);
        let plain = safetensors::serialize([("weight", tensor.unwrap())], Some(header)).unwrap();
        let mut sealed = sealed(&plain).unwrap();
        let (_, header) = SafeTensors::read_metadata(&sealed).unwrap();
        let metadata = header.metadata().clone().unwrap();
        assert_eq!(metadata["format"], "pt");
        assert!(metadata.contains_key(KEY) && is_intact(&sealed).unwrap());
        *sealed.last_mut().unwrap() ^= 1;
        assert!(!is_intact(&sealed).unwrap());
    }
}
