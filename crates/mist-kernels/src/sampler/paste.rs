//! The generalised inverse S^-1: pastes patches into black images and sums (paper, section 4.2).

use rayon::prelude::*;

use super::backward::SamplerBackward;
use super::padded::Padded;
use super::parts::{part, parts, zeros};
use super::samples::Samples;
use super::sizes::{SamplerError, Sizes};
use super::{Gradients, Wanted};

/// Resamples every patch at the pixels that its box covers and adds the results up.
///
/// # Shapes
/// - `patches`: `[batch, K, channels, patch_px, patch_px]`
/// - `keypoints`: `[batch, K, 3]`: x and y in pixels, scale (positive)
/// - output: `[batch, channels, height_px, width_px]`
///
/// # Errors
/// When a slice has the wrong length.
pub fn paste(patches: &[f32], keypoints: &[f32], sizes: &Sizes) -> Result<Vec<f32>, SamplerError> {
    sizes.check_patches("patches", patches)?;
    let keypoints = sizes.triples(keypoints)?;
    let mut images = vec![0.0; sizes.image_values()];
    let tasks = parts(&mut images, sizes.batch).into_par_iter().enumerate();
    tasks.for_each_init(
        || {
            let patch = Padded::new(sizes.channels, sizes.patch_px, sizes.patch_px);
            (patch, Samples::default(), Vec::new())
        },
        |(source, samples, memory), (index, image)| {
            for patch in index * sizes.instances..(index + 1) * sizes.instances {
                source.load(part(patches, patch, keypoints.len()));
                samples.place_image(keypoints[patch], sizes);
                samples.read(source, image, memory);
            }
        },
    );
    Ok(images)
}

/// Gradients of [`paste`] from that of its images.
///
/// # Shapes
/// - `image_gradient`: `[batch, channels, height_px, width_px]`
///
/// # Errors
/// When a slice has the wrong length.
pub fn paste_backward(
    patches: &[f32],
    keypoints: &[f32],
    image_gradient: &[f32],
    sizes: &Sizes,
    wanted: Wanted,
) -> Result<Gradients, SamplerError> {
    sizes.check_patches("patches", patches)?;
    sizes.check_images("the gradient of the images", image_gradient)?;
    let keypoints = sizes.triples(keypoints)?;
    let mut patch_gradient = zeros(sizes.patch_values(), wanted.source);
    let mut keypoint_gradient = zeros(sizes.keypoint_values(), wanted.keypoints);
    let tasks = (
        parts(&mut patch_gradient, keypoints.len()),
        parts(&mut keypoint_gradient, keypoints.len()),
    );
    tasks.into_par_iter().enumerate().for_each_init(
        || {
            let backward =
                SamplerBackward::new(wanted, sizes.channels, sizes.patch_px, sizes.patch_px);
            (backward, Samples::default())
        },
        |(backward, samples), (index, (patch_gradient, keypoint_gradient))| {
            let image = index / sizes.instances;
            backward.start(part(patches, index, keypoints.len()));
            samples.place_image(keypoints[index], sizes);
            let found = backward.run(samples, part(image_gradient, image, sizes.batch));
            keypoint_gradient.copy_from_slice(&found[..keypoint_gradient.len()]);
            backward.finish(patch_gradient);
        },
    );
    Ok(Gradients {
        source: wanted.source.then_some(patch_gradient),
        keypoints: wanted.keypoints.then_some(keypoint_gradient),
    })
}
