//! The generalised inverse S^-1: pastes patches into an empty image and sums (paper, section 4.2).

use burn::tensor::{Tensor, TensorData};

use super::fused::{self, Direction};
use super::hat::hat_weights;
use super::{PatchGeometry, check_keypoints, split_keypoints};
use crate::Error;

/// `sum_k S^-1(P_k, x_k)`: every pixel of the image reads every patch by bilinear interpolation; beyond a patch all
/// is zero. Fused by `mist_kernels` for f32 on the CPU, else [`paste_by_operations`].
///
/// # Shapes
/// - `patches`: `[batch, K, channels, patch_px, patch_px]`
/// - `keypoints`: `[batch, K, 3]`: x and y in pixels, scale (positive)
/// - output: `[batch, channels, height_px, width_px]`
///
/// # Errors
/// When the shapes do not belong together.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// use mist::sample::{PatchGeometry, paste};
///
/// let device = Device::flex();
/// let patches = Tensor::<5>::from_data([[[[[1.0, 2.0], [3.0, 4.0]]]]], &device);
/// let geometry = PatchGeometry { base_box_px: 2.0, patch_px: 2, context_px: 0.0 };
/// let keypoints = Tensor::<3>::from_data([[[2.0, 1.0, 1.0]]], &device);
/// let image = paste(patches, keypoints, geometry, 2, 3)?;
/// assert_eq!(image.try_into_vec_as::<f32>()?, [0.0, 1.0, 2.0, 0.0, 3.0, 4.0]);
/// # Ok::<(), mist::Error>(())
/// ```
pub fn paste(
    patches: Tensor<5>,
    keypoints: Tensor<3>,
    geometry: PatchGeometry,
    height_px: usize,
    width_px: usize,
) -> Result<Tensor<4>, Error> {
    if !fused::can_run(&patches, &keypoints) {
        return paste_by_operations(patches, keypoints, geometry, height_px, width_px);
    }
    let [batch, instances, channels] = check(&patches, &keypoints, geometry)?;
    let sizes = geometry.sizes([batch, instances, channels, height_px, width_px]);
    Ok(fused::run(patches, keypoints, Direction::Paste, sizes))
}

/// [`paste`] by matrix products of burn: the reference of the fused kernels, used on other devices and in
/// f64. Shapes and errors are the same.
///
/// # Errors
/// When the shapes do not belong together.
pub fn paste_by_operations(
    patches: Tensor<5>,
    keypoints: Tensor<3>,
    geometry: PatchGeometry,
    height_px: usize,
    width_px: usize,
) -> Result<Tensor<4>, Error> {
    let [batch, instances, channels] = check(&patches, &keypoints, geometry)?;
    let patch = geometry.patch_px;
    let [x, y, side] = split_keypoints(keypoints, geometry);
    let side = side.clamp_min(f32::MIN_POSITIVE);
    let in_patch = |pixels: usize, centre: Tensor<3>| {
        let from_centre = pixel_centres(pixels, &side) - centre;
        (from_centre / side.clone() + 0.5) * patch as f64
    };
    let columns = hat_weights(in_patch(width_px, x), patch);
    let rows = hat_weights(in_patch(height_px, y), patch);

    let widened = patches
        .reshape([batch * instances, channels * patch, patch])
        .matmul(
            columns
                .reshape([batch * instances, width_px, patch])
                .transpose(),
        )
        .reshape([batch, instances, channels, patch, width_px])
        .permute([0, 1, 3, 2, 4])
        .reshape([batch, instances * patch, channels * width_px]);
    Ok(rows
        .permute([0, 2, 1, 3])
        .reshape([batch, height_px, instances * patch])
        .matmul(widened)
        .reshape([batch, height_px, channels, width_px])
        .permute([0, 2, 1, 3]))
}

/// Batch, K and channels.
fn check(
    patches: &Tensor<5>,
    keypoints: &Tensor<3>,
    geometry: PatchGeometry,
) -> Result<[usize; 3], Error> {
    geometry.check()?;
    let [batch, patch_count, channels, height, width] = patches.dims();
    let instances = check_keypoints(keypoints, batch)?;
    let patch = geometry.patch_px;
    if [patch_count, height, width] != [instances, patch, patch] {
        return Err(Error::Mismatch {
            what: "patches per image, patch height and width",
            expected: vec![instances, patch, patch],
            actual: vec![patch_count, height, width],
        });
    }
    Ok([batch, instances, channels])
}

/// `[1, 1, pixels]`.
fn pixel_centres(pixels: usize, like: &Tensor<3>) -> Tensor<3> {
    let centres: Vec<f32> = (0..pixels).map(|index| index as f32 + 0.5).collect();
    let data = TensorData::new(centres, [1, 1, pixels]);
    Tensor::from_data(data, (&like.device(), like.dtype()))
}
