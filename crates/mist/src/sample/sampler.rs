//! The sampler S: cuts patches out of images (paper, section 4.1, "Patch resampling").

use burn::tensor::{Tensor, TensorData};

use super::fused::{self, Direction};
use super::hat::hat_weights;
use super::{PatchGeometry, check_keypoints, split_keypoints};
use crate::Error;

/// `{P_k} = S(I, {x_k})` with bilinear interpolation; beyond the image all is zero. Fused by
/// `mist_kernels` for f32 on the CPU, else [`sample_by_operations`].
///
/// # Shapes
/// - `images`: `[batch, channels, height, width]`
/// - `keypoints`: `[batch, K, 3]`: x and y in pixels, scale
/// - output: `[batch, K, channels, patch_px, patch_px]`
///
/// # Errors
/// When the shapes do not belong together.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// use mist::sample::{PatchGeometry, sample};
///
/// let device = Device::flex();
/// let image = Tensor::<4>::from_data([[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]], &device);
/// // A box of 2 px around (2, 2), read as 2 x 2 px.
/// let geometry = PatchGeometry { base_box_px: 2.0, patch_px: 2, context_px: 0.0 };
/// let keypoints = Tensor::<3>::from_data([[[2.0, 2.0, 1.0]]], &device);
/// let patches = sample(image, keypoints, geometry)?;
/// assert_eq!(patches.dims(), [1, 1, 1, 2, 2]);
/// assert_eq!(patches.try_into_vec_as::<f32>()?, [5.0, 6.0, 8.0, 9.0]);
/// # Ok::<(), mist::Error>(())
/// ```
pub fn sample(
    images: Tensor<4>,
    keypoints: Tensor<3>,
    geometry: PatchGeometry,
) -> Result<Tensor<5>, Error> {
    if !fused::can_run(&images, &keypoints) {
        return sample_by_operations(images, keypoints, geometry);
    }
    let [batch, channels, height_px, width_px] = images.dims();
    geometry.check()?;
    let instances = check_keypoints(&keypoints, batch)?;
    let sizes = geometry.sizes([batch, instances, channels, height_px, width_px]);
    Ok(fused::run(images, keypoints, Direction::Sample, sizes))
}

/// [`sample`] by matrix products of burn: the reference of the fused kernels, used on other devices and in
/// f64. Shapes and errors are the same.
///
/// # Errors
/// When the shapes do not belong together.
pub fn sample_by_operations(
    images: Tensor<4>,
    keypoints: Tensor<3>,
    geometry: PatchGeometry,
) -> Result<Tensor<5>, Error> {
    geometry.check()?;
    let [batch, channels, height, width] = images.dims();
    let instances = check_keypoints(&keypoints, batch)?;
    let patch = geometry.patch_px;
    let [x, y, side] = split_keypoints(keypoints, geometry);
    let in_box = side * patch_steps(patch, &x) / (2 * patch) as f64;
    let columns = hat_weights(x + in_box.clone(), width);
    let rows = hat_weights(y + in_box, height);

    let narrowed = images
        .reshape([batch, channels * height, width])
        .matmul(
            columns
                .reshape([batch, instances * patch, width])
                .transpose(),
        )
        .reshape([batch, channels, height, instances, patch])
        .permute([0, 3, 2, 1, 4])
        .reshape([batch * instances, height, channels * patch]);
    Ok(rows
        .reshape([batch * instances, patch, height])
        .matmul(narrowed)
        .reshape([batch, instances, patch, channels, patch])
        .permute([0, 1, 3, 2, 4]))
}

/// Distances of the patch's pixel centres from its own centre in half pixels, `[1, 1, patch_px]`.
///
/// Whole numbers, so that samples meant for pixel centres land on them exactly.
fn patch_steps(patch_px: usize, like: &Tensor<3>) -> Tensor<3> {
    let steps = (0..patch_px).map(|index| (2 * index + 1) as f32 - patch_px as f32);
    let data = TensorData::new(steps.collect::<Vec<f32>>(), [1, 1, patch_px]);
    Tensor::from_data(data, (&like.device(), like.dtype()))
}
