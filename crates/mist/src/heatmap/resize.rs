//! Bilinear resizing of images and heatmaps (paper, appendix A).

use burn::tensor::{Tensor, TensorData};

use crate::Error;

/// Resizes with bilinear interpolation between pixel centres, repeating the edge.
///
/// Separable and linear in the image: `rows * image * columns^T` with constant matrices.
///
/// # Shapes
/// - input: `[batch, channels, height, width]`
/// - output: `[batch, channels, new_height_px, new_width_px]`
///
/// # Errors
/// When a side is zero.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// use mist::heatmap::resize;
///
/// let image = Tensor::<4>::from_data([[[[0.0, 1.0]]]], &Device::flex());
/// assert_eq!(resize(image, 1, 4)?.try_into_vec_as::<f32>()?, [0.0, 0.25, 0.75, 1.0]);
/// # Ok::<(), mist::Error>(())
/// ```
pub fn resize(
    images: Tensor<4>,
    new_height_px: usize,
    new_width_px: usize,
) -> Result<Tensor<4>, Error> {
    let [batch, channels, height, width] = images.dims();
    if [height, width, new_height_px, new_width_px].contains(&0) {
        return Err(Error::Setting {
            name: "size",
            requirement: "at least one pixel on each side".into(),
        });
    }
    if (new_height_px, new_width_px) == (height, width) {
        return Ok(images);
    }
    let matrix = |from: usize, to: usize| {
        let data = TensorData::new(interpolation_matrix(from, to), [1, to, from]);
        Tensor::<3>::from_data(data, (&images.device(), images.dtype()))
    };
    let (rows, columns) = (matrix(height, new_height_px), matrix(width, new_width_px));
    let maps = batch * channels;
    let stretched = images
        .reshape([1, maps * height, width])
        .matmul(columns.transpose())
        .reshape([maps, height, new_width_px]);
    let rows = rows.expand([maps, new_height_px, height]);
    Ok(rows
        .matmul(stretched)
        .reshape([batch, channels, new_height_px, new_width_px]))
}

/// Row-major `[to, from]` weights.
fn interpolation_matrix(from: usize, to: usize) -> Vec<f32> {
    let mut weights = vec![0.0f32; to * from];
    for (index, row) in weights.chunks_exact_mut(from).enumerate() {
        let centre = (index as f64 + 0.5) * from as f64 / to as f64 - 0.5;
        let position = centre.clamp(0.0, (from - 1) as f64);
        let lower = position.floor() as usize;
        let fraction = (position - lower as f64) as f32;
        row[lower] += 1.0 - fraction;
        if lower + 1 < from {
            row[lower + 1] += fraction;
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_weights_sums_to_one() {
        for (from, to) in [(1, 5), (7, 3), (3, 7), (80, 57), (5, 1)] {
            for row in interpolation_matrix(from, to).chunks_exact(from) {
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6);
            }
        }
    }
}
