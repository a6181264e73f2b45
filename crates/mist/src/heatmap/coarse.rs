//! The heatmap on a backbone's features (paper, appendix A, "Backbone-based heatmap network").

use burn::tensor::{Device, Tensor};

use super::ScaleLevels;
use crate::Error;
use crate::backbone::{BackboneConfig, OffsetRange};
use crate::geometry::Keypoint;
use crate::loss::{heatmap_loss, offset_loss};
use crate::splat::{GaussianSplat, GaussianTarget};

/// What becomes of the three channels of a head: response, x-offset and y-offset.
#[derive(Clone, Debug)]
pub struct CoarseHeatmap {
    levels: ScaleLevels,
    splat: GaussianSplat,
    offsets: OffsetRange,
    offset_weight: f32,
}

impl CoarseHeatmap {
    /// That of a backbone, for boxes of a size.
    pub fn new(config: &BackboneConfig, base_box_px: f32) -> Self {
        Self {
            levels: ScaleLevels::single(),
            splat: config.splat(base_box_px),
            offsets: config.offsets(),
            offset_weight: config.offset_weight,
        }
    }

    /// The one scale of its boxes.
    pub fn levels(&self) -> &ScaleLevels {
        &self.levels
    }

    /// Pixels of the image per cell.
    pub fn stride_px(&self) -> f32 {
        self.splat.stride_px
    }

    /// The response as it is, the offsets within a cell: `[batch, 3, height, width]`, as the head gave them.
    pub(super) fn limited(&self, maps: Tensor<4>) -> Tensor<4> {
        let response = maps.clone().narrow(1, 0, 1);
        let offsets = maps.narrow(1, 1, 2);
        let offsets = offsets.clamp(*self.offsets.start(), *self.offsets.end());
        Tensor::cat(vec![response, offsets], 1)
    }

    /// G of keypoints, each with its weight, on maps of `height` x `width` cells.
    pub(super) fn target(
        &self,
        keypoints: &[Vec<Keypoint>],
        weights: Option<&[Vec<f32>]>,
        [height, width]: [usize; 2],
        device: &Device,
    ) -> Result<GaussianTarget, Error> {
        self.splat
            .splat_weighted(keypoints, weights, height, width, device)
    }

    /// Squared error of the response and Huber loss of the offsets, per image: `[batch]` each.
    pub(super) fn losses(
        &self,
        heatmaps: Tensor<4>,
        target: GaussianTarget,
    ) -> Result<(Tensor<1>, Tensor<1>), Error> {
        let response = heatmap_loss(heatmaps.clone().narrow(1, 0, 1), target.response, 1)?;
        let offsets = offset_loss(heatmaps.narrow(1, 1, 2), target.offsets, target.mask)?;
        Ok((response, offsets * self.offset_weight))
    }
}
