//! f32 tensors of burn's CPU backend, as the kernels read and write them.

use burn::backend::flex::FlexTensor;
use burn::tensor::TensorData;

/// The values of a contiguous f32 tensor, row-major.
pub(crate) fn values(tensor: &FlexTensor) -> &[f32] {
    tensor.storage::<f32>()
}

/// A tensor of shape `dims` with these values, or of NaN if there are none.
///
/// Neither a burn operation nor its backward pass can return an error, and a missing gradient is taken for one that is
/// not needed. NaN reaches the loss or the parameters, where it is noticed.
pub(crate) fn tensor_or_nan(values: Option<Vec<f32>>, dims: &[usize]) -> FlexTensor {
    let count = dims.iter().product();
    let values = values.unwrap_or_else(|| vec![f32::NAN; count]);
    FlexTensor::from_data(TensorData::new(values, dims.to_vec()))
}
