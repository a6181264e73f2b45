//! Keypoints as tensors: `[batch, K, 3]` with x and y in pixels, then scale.

use burn::tensor::{Device, Tensor, TensorData};

use crate::Error;
use crate::geometry::Keypoint;

/// Packs one list of keypoints per image.
///
/// # Errors
/// When the lists differ in length.
pub fn to_tensor(keypoints: &[Vec<Keypoint>], device: &Device) -> Result<Tensor<3>, Error> {
    let instances = keypoints.first().map_or(0, Vec::len);
    if let Some(other) = keypoints.iter().find(|list| list.len() != instances) {
        return Err(Error::Mismatch {
            what: "keypoints per image",
            expected: vec![instances],
            actual: vec![other.len()],
        });
    }
    let values: Vec<f32> = keypoints
        .iter()
        .flatten()
        .flat_map(|keypoint| [keypoint.x_px, keypoint.y_px, keypoint.scale])
        .collect();
    let data = TensorData::new(values, [keypoints.len(), instances, 3]);
    Ok(Tensor::from_data(data, device))
}

/// Unpacks what [`to_tensor`] packed.
///
/// # Errors
/// When the last dimension is not 3 or the device cannot be read.
pub fn from_tensor(keypoints: Tensor<3>) -> Result<Vec<Vec<Keypoint>>, Error> {
    let [batch, instances, coordinates] = keypoints.dims();
    if coordinates != 3 {
        return Err(Error::Mismatch {
            what: "coordinates of a keypoint",
            expected: vec![3],
            actual: vec![coordinates],
        });
    }
    let values = keypoints.try_into_vec_as::<f32>()?;
    let mut unpacked = values.chunks_exact(3).map(|values| Keypoint {
        x_px: values[0],
        y_px: values[1],
        scale: values[2],
    });
    Ok((0..batch)
        .map(|_| unpacked.by_ref().take(instances).collect())
        .collect())
}
