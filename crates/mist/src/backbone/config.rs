//! Settings of models that see photographs through a backbone.

use std::ops::RangeInclusive;

use mist_kernels::network::{Layer, Network, NetworkError, Padding};
use serde::{Deserialize, Serialize};

use super::Architecture;
use crate::Error;
use crate::settings::{Bounds, WEIGHT, within};
use crate::splat::{CellRounding, GaussianSplat, GaussianWidth};

/// A frozen backbone and the heatmap on its features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackboneConfig {
    /// The network.
    pub architecture: Architecture,
    /// The file of its weights, looked for where data is; or a path.
    pub weights: String,
    /// Shorter side to which images are resized.
    #[serde(default = "default_image_px")]
    pub image_px: usize,
    /// The network of H on the features.
    #[serde(default)]
    pub head: HeadConfig,
    /// Which cell a keypoint belongs to.
    #[serde(default = "default_rounding")]
    pub rounding: CellRounding,
    /// Width of the Gaussians of G.
    #[serde(default = "default_width")]
    pub width: GaussianWidth,
    /// Weight of the offsets' loss.
    #[serde(default = "default_offset_weight")]
    pub offset_weight: f32,
    /// Whether detection looks at the mirror image too: responses and probabilities are averaged.
    #[serde(default, skip_serializing_if = "is_off")]
    pub mirror: bool,
}

/// The convolutions that turn features into response, x-offset and y-offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HeadConfig {
    /// Channels of a 3x3 convolution and ReLU before the 1x1 convolution, as in the released code; 0 leaves them out, as
    /// in the paper.
    pub hidden_channels: usize,
}

/// Offsets that a keypoint can have within its cell, in cells.
pub type OffsetRange = RangeInclusive<f32>;

fn default_image_px() -> usize {
    224
}

fn default_rounding() -> CellRounding {
    CellRounding::Nearest
}

fn default_width() -> GaussianWidth {
    GaussianWidth::Variance
}

fn is_off(flag: &bool) -> bool {
    !flag
}

fn default_offset_weight() -> f32 {
    1.0
}

impl HeadConfig {
    /// The description, for features of so many channels.
    ///
    /// # Errors
    /// When a number is out of range.
    pub fn network(&self, in_channels: usize) -> Result<Network, NetworkError> {
        let response_and_offsets = Layer::Conv1x1 { out_channels: 3 };
        let layers = match self.hidden_channels {
            0 => vec![response_and_offsets],
            out_channels => vec![
                Layer::Conv3x3 {
                    out_channels,
                    padding: Padding::Same,
                },
                Layer::Relu,
                response_and_offsets,
            ],
        };
        Network::new(in_channels, layers)
    }
}

impl BackboneConfig {
    /// Refuses impossible settings.
    ///
    /// # Errors
    /// When a number is out of range.
    pub fn check(&self) -> Result<(), Error> {
        Bounds::new("backbone.image_px", 32, 4096).check(self.image_px)?;
        within([("backbone.offset_weight", self.offset_weight, WEIGHT)])?;
        self.head.network(self.architecture.channels())?;
        Ok(())
    }

    /// Pixels of the resized image per cell.
    pub fn stride_px(&self) -> f32 {
        Architecture::STRIDE_PX as f32
    }

    /// G, for boxes of a size.
    pub fn splat(&self, base_box_px: f32) -> GaussianSplat {
        GaussianSplat {
            stride_px: self.stride_px(),
            base_box_px,
            rounding: self.rounding,
            width: self.width,
        }
    }

    /// The offsets that [`CellRounding`] leaves.
    pub fn offsets(&self) -> OffsetRange {
        match self.rounding {
            CellRounding::Nearest => -0.5..=0.5,
            CellRounding::Floor => 0.0..=1.0,
        }
    }

    /// The size that an image of some size is resized to: the shorter side as set, both whole numbers of cells.
    pub fn resized_px(&self, height_px: usize, width_px: usize) -> [usize; 2] {
        let factor = self.image_px as f64 / height_px.min(width_px).max(1) as f64;
        let stride = Architecture::STRIDE_PX as f64;
        [height_px, width_px].map(|side_px| {
            let cells = (side_px as f64 * factor / stride).round().max(1.0);
            cells as usize * Architecture::STRIDE_PX
        })
    }
}
