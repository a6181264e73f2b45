//! Sizes of a call, and checks of its slices against them.

/// All sizes of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// Images.
    pub batch: usize,
    /// Keypoints per image, K.
    pub instances: usize,
    /// Channels of images and patches.
    pub channels: usize,
    /// Height of an image.
    pub height_px: usize,
    /// Width of an image.
    pub width_px: usize,
    /// Side of the box at scale 1, in pixels of the image.
    pub base_box_px: f32,
    /// Side of a patch, in its own pixels.
    pub patch_px: usize,
}

impl Sizes {
    /// Values of `[batch][channel][row][column]` images.
    pub fn image_values(&self) -> usize {
        product(&[self.batch, self.channels, self.height_px, self.width_px])
    }

    /// Values of `[batch][K][channel][row][column]` patches.
    pub fn patch_values(&self) -> usize {
        let [patches, side] = [self.batch.saturating_mul(self.instances), self.patch_px];
        product(&[patches, self.channels, side, side])
    }

    /// Values of `[batch][K][(x, y, scale)]` keypoints.
    pub fn keypoint_values(&self) -> usize {
        product(&[self.batch, self.instances, 3])
    }

    pub(super) fn check_images(
        &self,
        what: &'static str,
        values: &[f32],
    ) -> Result<(), SamplerError> {
        check(what, self.image_values(), values)
    }

    pub(super) fn check_patches(
        &self,
        what: &'static str,
        values: &[f32],
    ) -> Result<(), SamplerError> {
        check(what, self.patch_values(), values)
    }

    /// The keypoints as triples.
    pub(super) fn triples<'a>(&self, keypoints: &'a [f32]) -> Result<&'a [[f32; 3]], SamplerError> {
        check("keypoints", self.keypoint_values(), keypoints)?;
        Ok(keypoints.as_chunks().0)
    }
}

/// A slice of the wrong length.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} should hold {expected} values, not {actual}")]
pub struct SamplerError {
    /// Which one.
    pub what: &'static str,
    /// What it should hold.
    pub expected: usize,
    /// What it holds.
    pub actual: usize,
}

fn check(what: &'static str, expected: usize, values: &[f32]) -> Result<(), SamplerError> {
    if values.len() == expected {
        return Ok(());
    }
    Err(SamplerError {
        what,
        expected,
        actual: values.len(),
    })
}

/// Saturates: no slice has `usize::MAX` values, so sizes beyond memory are refused as a wrong length.
fn product(factors: &[usize]) -> usize {
    factors.iter().copied().fold(1, usize::saturating_mul)
}
