//! How much each pixel differs from its image.

use burn::tensor::{DType, Tensor};

use crate::Error;

/// The squared difference to the median of the image, summed over channels: `height * width` values per image.
pub(super) fn contrast_maps(images: Tensor<4>) -> Result<Vec<Vec<f32>>, Error> {
    let [batch, channels, height, width] = images.dims();
    let area = height * width;
    let values = images.cast(DType::F32).try_into_vec_as::<f32>()?;
    let sample = channels * area;
    Ok((0..batch)
        .map(|image| {
            let planes = &values[image * sample..(image + 1) * sample];
            let mut contrast = vec![0.0; area];
            for plane in planes.chunks_exact(area) {
                let median = median(plane);
                for (sum, value) in contrast.iter_mut().zip(plane) {
                    *sum += (value - median) * (value - median);
                }
            }
            contrast
        })
        .collect())
}

fn median(values: &[f32]) -> f32 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}
