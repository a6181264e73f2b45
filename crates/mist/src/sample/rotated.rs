//! S with boxes rotated about their centres, for patches whose keypoints need no gradient.

use burn::tensor::{DType, Tensor, TensorData};

use super::PatchGeometry;
use crate::Error;
use crate::geometry::Keypoint;

/// A keypoint whose box is rotated about its centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RotatedKeypoint {
    /// Centre and scale.
    pub keypoint: Keypoint,
    /// Clockwise, in radians.
    pub rotation_rad: f32,
}

/// As [`sample`](super::sample), with rotated boxes and without gradients.
///
/// # Shapes
/// - `images`: `[batch, channels, height, width]`
/// - `keypoints`: as many for each image
/// - output: `[batch, K, channels, patch_px, patch_px]`
///
/// # Errors
/// When the numbers of keypoints differ or are not those of the images.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// use mist::geometry::Keypoint;
/// use mist::sample::{PatchGeometry, RotatedKeypoint, sample_rotated};
///
/// let image = Tensor::<4>::ones([1, 1, 8, 8], &Device::flex());
/// let geometry = PatchGeometry { base_box_px: 4.0, patch_px: 4, context_px: 0.0 };
/// let keypoint = Keypoint { x_px: 4.0, y_px: 4.0, scale: 1.0 };
/// let rotated = RotatedKeypoint { keypoint, rotation_rad: 0.5 };
/// assert_eq!(sample_rotated(&image, &[vec![rotated]], geometry)?.dims(), [1, 1, 1, 4, 4]);
/// # Ok::<(), mist::Error>(())
/// ```
pub fn sample_rotated(
    images: &Tensor<4>,
    keypoints: &[Vec<RotatedKeypoint>],
    geometry: PatchGeometry,
) -> Result<Tensor<5>, Error> {
    geometry.check()?;
    let [batch, channels, height, width] = images.dims();
    let instances = keypoints.first().map_or(0, Vec::len);
    if keypoints.len() != batch || keypoints.iter().any(|image| image.len() != instances) {
        return Err(Error::Mismatch {
            what: "keypoints per image",
            expected: vec![instances; batch],
            actual: keypoints.iter().map(Vec::len).collect(),
        });
    }
    let plain = images.clone().detach().inner().cast(DType::F32);
    let values = plain.try_into_vec_as::<f32>()?;
    let side = geometry.patch_px;
    let mut patches = Vec::with_capacity(batch * instances * channels * side * side);
    for (image, rotated) in keypoints.iter().enumerate() {
        let planes = &values[image * channels * height * width..][..channels * height * width];
        for rotated in rotated {
            for plane in planes.chunks_exact(height * width) {
                patches
                    .extend(places(*rotated, geometry).map(|(x, y)| bilinear(plane, width, x, y)));
            }
        }
    }
    let data = TensorData::new(patches, [batch, instances, channels, side, side]);
    Ok(Tensor::from_data(data, &images.device()))
}

/// Where the pixels of a patch lie in the image, row by row, in pixels.
fn places(rotated: RotatedKeypoint, geometry: PatchGeometry) -> impl Iterator<Item = (f32, f32)> {
    let RotatedKeypoint {
        keypoint,
        rotation_rad,
    } = rotated;
    let (sin, cos) = rotation_rad.sin_cos();
    let side = geometry.patch_px;
    let step_px = keypoint.scale * geometry.shown_px() / side as f32;
    let from_centre = move |index: usize| (index as f32 + 0.5 - side as f32 / 2.0) * step_px;
    (0..side * side).map(move |index| {
        let (right, down) = (from_centre(index % side), from_centre(index / side));
        (
            keypoint.x_px + right * cos - down * sin,
            keypoint.y_px + right * sin + down * cos,
        )
    })
}

/// The value between the four nearest pixels; outside the image all is zero.
fn bilinear(plane: &[f32], width: usize, x_px: f32, y_px: f32) -> f32 {
    let height = plane.len() / width;
    let (x, y) = (x_px - 0.5, y_px - 0.5);
    let (left, top) = (x.floor(), y.floor());
    let (right_share, lower_share) = (x - left, y - top);
    let at = |column: f32, row: f32| {
        let inside = (0.0..width as f32).contains(&column) && (0.0..height as f32).contains(&row);
        if inside {
            plane[row as usize * width + column as usize]
        } else {
            0.0
        }
    };
    let along = |row: f32| at(left, row) * (1.0 - right_share) + at(left + 1.0, row) * right_share;
    along(top) * (1.0 - lower_share) + along(top + 1.0) * lower_share
}

#[cfg(test)]
mod tests {
    use std::f32::consts::FRAC_PI_2;

    use burn::tensor::Device;

    use super::super::sample;
    use super::*;
    use crate::keypoints;

    const GEOMETRY: PatchGeometry = PatchGeometry {
        base_box_px: 6.0,
        patch_px: 8,
        context_px: 0.0,
    };

    fn images() -> Tensor<4> {
        let pixels = (0..2 * 3 * 9 * 11).map(|index| ((index * 37) % 101) as f32 / 101.0);
        let data = TensorData::new(pixels.collect::<Vec<_>>(), [2, 3, 9, 11]);
        Tensor::from_data(data, &Device::flex())
    }

    fn points(rotation_rad: f32) -> Vec<Vec<RotatedKeypoint>> {
        let at = |x_px, y_px, scale| RotatedKeypoint {
            keypoint: Keypoint { x_px, y_px, scale },
            rotation_rad,
        };
        vec![
            vec![at(4.3, 5.2, 1.0), at(0.5, 8.9, 1.3)],
            vec![at(10.0, 1.0, 0.7), at(5.5, 4.5, 1.0)],
        ]
    }

    fn rotated(rotation_rad: f32) -> Vec<f32> {
        let patches = sample_rotated(&images(), &points(rotation_rad), GEOMETRY).unwrap();
        patches.try_into_vec_as::<f32>().unwrap()
    }

    #[test]
    fn upright_boxes_are_those_of_the_sampler() {
        let upright: Vec<Vec<Keypoint>> = points(0.0)
            .iter()
            .map(|image| image.iter().map(|rotated| rotated.keypoint).collect())
            .collect();
        let upright = keypoints::to_tensor(&upright, &Device::flex()).unwrap();
        let expected = sample(images(), upright, GEOMETRY).unwrap();
        let expected = expected.try_into_vec_as::<f32>().unwrap();
        for (actual, expected) in rotated(0.0).iter().zip(expected) {
            assert!((actual - expected).abs() < 1e-5, "{actual} {expected}");
        }
    }

    #[test]
    fn a_quarter_rotation_exchanges_rows_and_columns() {
        let (upright, quarter) = (rotated(0.0), rotated(FRAC_PI_2));
        for (upright, quarter) in upright.chunks_exact(64).zip(quarter.chunks_exact(64)) {
            for (row, column) in (0..8).flat_map(|row| (0..8).map(move |column| (row, column))) {
                let (a, b) = (quarter[row * 8 + column], upright[column * 8 + 7 - row]);
                assert!((a - b).abs() < 1e-4, "{a} {b}");
            }
        }
    }

    #[test]
    fn context_shows_what_a_larger_box_would() {
        let around = PatchGeometry {
            context_px: 1.5,
            ..GEOMETRY
        };
        let larger = PatchGeometry {
            base_box_px: 9.0,
            ..GEOMETRY
        };
        let both = [around, larger].map(|geometry| {
            let patches = sample_rotated(&images(), &points(0.2), geometry).unwrap();
            patches.try_into_vec_as::<f32>().unwrap()
        });
        assert_eq!(both[0], both[1]);
    }

    #[test]
    fn uneven_lists_are_refused() {
        let mut uneven = points(0.0);
        uneven[1].pop();
        assert!(sample_rotated(&images(), &uneven, GEOMETRY).is_err());
        assert!(sample_rotated(&images(), &uneven[..1], GEOMETRY).is_err());
    }
}
