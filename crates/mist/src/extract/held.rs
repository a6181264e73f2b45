//! What boxes hold.

use burn::tensor::Tensor;

use super::contrast::contrast_maps;
use super::window_sums::WindowSums;
use crate::Error;
use crate::geometry::Keypoint;

/// The contrast in each keypoint's box of side `box_px` times its scale: squared differences to the image's median.
///
/// # Shapes
/// - `images`: `[batch, channels, height, width]`
/// - `keypoints`: one list per image
///
/// # Errors
/// When the device cannot be read.
pub fn held_contrast(
    images: Tensor<4>,
    keypoints: &[Vec<Keypoint>],
    box_px: f32,
) -> Result<Vec<Vec<f64>>, Error> {
    let width = images.dims()[3];
    let maps = contrast_maps(images)?;
    let held = |(contrast, keypoints): (Vec<f32>, &Vec<Keypoint>)| {
        let sums = WindowSums::new(&contrast, width);
        let pixel = |at_px: f32, end: usize| (at_px.max(0.0) as usize).min(end.saturating_sub(1));
        let box_of = |keypoint: &Keypoint| {
            let (x, y) = (
                pixel(keypoint.x_px, sums.width),
                pixel(keypoint.y_px, sums.height),
            );
            sums.around(x, y, (box_px * keypoint.scale) as usize)
        };
        keypoints.iter().map(box_of).collect()
    };
    Ok(maps.into_iter().zip(keypoints).map(held).collect())
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;

    #[test]
    fn a_box_holds_what_lies_in_it() {
        let (width, height) = (20, 10);
        let mut pixels = vec![0.0; width * height];
        pixels[4 * width + 5] = 2.0;
        pixels[4 * width + 14] = -1.0;
        let data = TensorData::new(pixels, [1, 1, height, width]);
        let images = Tensor::from_data(data, &Device::flex());
        let at = |x_px| Keypoint {
            x_px,
            y_px: 4.5,
            scale: 1.0,
        };
        let keypoints = [vec![at(5.5), at(14.5), at(10.0), at(f32::NAN), at(1e9)]];
        let held = held_contrast(images, &keypoints, 3.0).unwrap();
        assert_eq!(held, [[4.0, 1.0, 0.0, 0.0, 0.0]]);
    }
}
