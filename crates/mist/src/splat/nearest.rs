//! One pixel per keypoint, its mass shared between the two neighbouring scales (appendix B).

use burn::tensor::{Device, Tensor, TensorData};

use crate::Error;
use crate::geometry::Keypoint;
use crate::heatmap::ScaleLevels;

/// The ideal heatmap: zero but at the pixel that holds each keypoint, where the masses over scale sum to one and
/// their centre is the keypoint's scale, so that `E_K(G(x)) = x` up to half a pixel.
///
/// Keypoints outside the image go to its nearest pixel. Where two keypoints share a pixel the larger mass counts.
///
/// # Shapes
/// - `keypoints`: one list per image
/// - output: `[batch, scales, height_px, width_px]`
///
/// # Errors
/// When the size is empty or a keypoint is not finite.
///
/// # Example
/// ```
/// use burn::tensor::Device;
/// use mist::geometry::Keypoint;
/// use mist::heatmap::ScaleLevels;
/// use mist::splat::splat;
///
/// let keypoint = Keypoint { x_px: 2.5, y_px: 0.5, scale: 1.0 };
/// let heatmap = splat(&[vec![keypoint]], &ScaleLevels::single(), 2, 4, &Device::flex())?;
/// assert_eq!(heatmap.try_into_vec_as::<f32>()?, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
/// # Ok::<(), mist::Error>(())
/// ```
pub fn splat(
    keypoints: &[Vec<Keypoint>],
    levels: &ScaleLevels,
    height_px: usize,
    width_px: usize,
    device: &Device,
) -> Result<Tensor<4>, Error> {
    if height_px == 0 || width_px == 0 {
        return Err(Error::Setting {
            name: "size",
            requirement: "at least one pixel on each side".into(),
        });
    }
    let scales = levels.values().len();
    let area = height_px * width_px;
    let mut values = vec![0.0f32; keypoints.len() * scales * area];
    for (maps, keypoints) in values.chunks_exact_mut(scales * area).zip(keypoints) {
        for keypoint in keypoints {
            if ![keypoint.x_px, keypoint.y_px, keypoint.scale]
                .iter()
                .all(|value| value.is_finite())
            {
                return Err(Error::Setting {
                    name: "keypoint",
                    requirement: "finite".into(),
                });
            }
            let x = pixel_of(keypoint.x_px, width_px);
            let y = pixel_of(keypoint.y_px, height_px);
            for (level, mass) in levels.shares(keypoint.scale) {
                let value = &mut maps[level * area + y * width_px + x];
                *value = value.max(mass);
            }
        }
    }
    let data = TensorData::new(values, [keypoints.len(), scales, height_px, width_px]);
    Ok(Tensor::from_data(data, device))
}

/// The pixel that holds a coordinate: the one with the nearest centre.
fn pixel_of(coordinate_px: f32, side_px: usize) -> usize {
    (coordinate_px.floor().max(0.0) as usize).min(side_px - 1)
}
