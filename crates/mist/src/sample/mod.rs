//! The patch sampler S and its inverse (paper, sections 4.1 and 4.2).
//!
//! Boxes are square and upright, so that bilinear interpolation is separable: with one matrix of hat weights per
//! axis, `S(I, x) = A_y I A_x^T`, and S^-1 is the same with the roles of patch and image exchanged. Both are
//! differentiable in keypoints, scale and image or patch, on every burn device and in f32 or f64. In f32 on the CPU
//! the same is read by gathers of `mist_kernels`, without the matrices.

mod fused;
mod hat;
mod paste;
mod rotated;
mod sampler;
mod source;

pub use paste::{paste, paste_by_operations};
pub use rotated::{RotatedKeypoint, sample_rotated};
pub use sampler::{sample, sample_by_operations};
pub use source::Source;

use burn::tensor::Tensor;
use mist_kernels::sampler::Sizes;

use crate::Error;
use crate::settings::{Bounds, finite};

/// Limits of the settings.
const MAX_PATCH_PX: usize = 1024;
const MAX_BOX_PX: f32 = 65_536.0;

/// Sizes that S and S^-1 need beside their tensors; the default is [`PatchGeometry::mnist`].
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PatchGeometry {
    /// Side of the box at scale 1, in pixels of the image.
    pub base_box_px: f32,
    /// Side of the patch, in its own pixels.
    pub patch_px: usize,
    /// Margin around the box that a patch shows too, on each side, in pixels of the image at scale 1: a box that is a
    /// little off does not cut its object.
    pub context_px: f32,
}

impl Default for PatchGeometry {
    fn default() -> Self {
        Self::mnist()
    }
}

impl PatchGeometry {
    /// A box of 20 px read as 32 x 32, as in the MNIST experiments.
    pub fn mnist() -> Self {
        Self {
            base_box_px: 20.0,
            patch_px: 32,
            context_px: 0.0,
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let Self {
            base_box_px,
            context_px,
            ..
        } = *self;
        finite([("base_box_px", base_box_px), ("context_px", context_px)])?;
        Bounds::new("patch_px", 1, MAX_PATCH_PX).check(self.patch_px)?;
        let shown = f32::EPSILON..=MAX_BOX_PX;
        if base_box_px > 0.0 && context_px >= 0.0 && shown.contains(&self.shown_px()) {
            return Ok(());
        }
        Err(Error::Setting {
            name: "base_box_px and context_px",
            requirement: format!("positive, and at most {MAX_BOX_PX} together").into(),
        })
    }

    /// Side of what a patch shows at scale 1, in pixels of the image.
    pub fn shown_px(&self) -> f32 {
        self.base_box_px + 2.0 * self.context_px
    }

    fn sizes(&self, [batch, instances, channels, height_px, width_px]: [usize; 5]) -> Sizes {
        Sizes {
            batch,
            instances,
            channels,
            height_px,
            width_px,
            base_box_px: self.shown_px(),
            patch_px: self.patch_px,
        }
    }
}

/// x, y and side of what its patch shows, of each keypoint, `[batch, K, 1]` each.
fn split_keypoints(keypoints: Tensor<3>, geometry: PatchGeometry) -> [Tensor<3>; 3] {
    let column = |index| keypoints.clone().narrow(2, index, 1);
    [column(0), column(1), column(2) * geometry.shown_px()]
}

fn check_keypoints(keypoints: &Tensor<3>, batch: usize) -> Result<usize, Error> {
    let [images, instances, coordinates] = keypoints.dims();
    if (images, coordinates) != (batch, 3) {
        return Err(Error::Mismatch {
            what: "keypoints as [batch, K, (x, y, scale)]",
            expected: vec![batch, instances, 3],
            actual: vec![images, instances, coordinates],
        });
    }
    Ok(instances)
}
