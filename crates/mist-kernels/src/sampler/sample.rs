//! The sampler S: cuts patches out of images (paper, section 4.1, "Patch resampling").

use rayon::prelude::*;

use super::backward::SamplerBackward;
use super::padded::Padded;
use super::parts::{part, parts, zeros};
use super::samples::Samples;
use super::sizes::{SamplerError, Sizes};
use super::{Gradients, Wanted};

/// Resamples the box of every keypoint as a patch.
///
/// # Shapes
/// - `images`: `[batch, channels, height_px, width_px]`
/// - `keypoints`: `[batch, K, 3]`: x and y in pixels, scale
/// - output: `[batch, K, channels, patch_px, patch_px]`
///
/// # Errors
/// When a slice has the wrong length.
pub fn sample(images: &[f32], keypoints: &[f32], sizes: &Sizes) -> Result<Vec<f32>, SamplerError> {
    sizes.check_images("images", images)?;
    let keypoints = sizes.triples(keypoints)?;
    let mut patches = vec![0.0; sizes.patch_values()];
    let tasks = parts(&mut patches, sizes.batch).into_par_iter().enumerate();
    tasks.for_each_init(
        || {
            let image = Padded::new(sizes.channels, sizes.height_px, sizes.width_px);
            (image, Samples::default(), Vec::new())
        },
        |(image, samples, memory), (index, patches)| {
            image.load(part(images, index, sizes.batch));
            let keypoints = &keypoints[index * sizes.instances..];
            for (patch, &keypoint) in parts(patches, sizes.instances).iter_mut().zip(keypoints) {
                samples.place_patch(keypoint, sizes);
                samples.read(image, patch, memory);
            }
        },
    );
    Ok(patches)
}

/// Gradients of [`sample`] from that of its patches.
///
/// # Shapes
/// - `patch_gradient`: `[batch, K, channels, patch_px, patch_px]`
///
/// # Errors
/// When a slice has the wrong length.
pub fn sample_backward(
    images: &[f32],
    keypoints: &[f32],
    patch_gradient: &[f32],
    sizes: &Sizes,
    wanted: Wanted,
) -> Result<Gradients, SamplerError> {
    sizes.check_images("images", images)?;
    sizes.check_patches("the gradient of the patches", patch_gradient)?;
    let keypoints = sizes.triples(keypoints)?;
    let mut image_gradient = zeros(sizes.image_values(), wanted.source);
    let mut keypoint_gradient = zeros(sizes.keypoint_values(), wanted.keypoints);
    let tasks = (
        parts(&mut image_gradient, sizes.batch),
        parts(&mut keypoint_gradient, sizes.batch),
    );
    tasks.into_par_iter().enumerate().for_each_init(
        || {
            let backward =
                SamplerBackward::new(wanted, sizes.channels, sizes.height_px, sizes.width_px);
            (backward, Samples::default())
        },
        |(backward, samples), (index, (image_gradient, keypoint_gradient))| {
            backward.start(part(images, index, sizes.batch));
            let outputs = parts(keypoint_gradient, sizes.instances);
            for (instance, output) in outputs.into_iter().enumerate() {
                let patch = index * sizes.instances + instance;
                let patch_gradient = part(patch_gradient, patch, sizes.batch * sizes.instances);
                samples.place_patch(keypoints[patch], sizes);
                let found = backward.run(samples, patch_gradient);
                output.copy_from_slice(&found[..output.len()]);
            }
            backward.finish(image_gradient);
        },
    );
    Ok(Gradients {
        source: wanted.source.then_some(image_gradient),
        keypoints: wanted.keypoints.then_some(keypoint_gradient),
    })
}
