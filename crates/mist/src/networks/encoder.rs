//! The encoder shared by the classifier and the auto-encoder (paper, appendix C.1).

use mist_kernels::network::{Layer, Network, NetworkError, Padding};
use serde::{Deserialize, Serialize};

use super::BlockStyle;

/// Levels of residual blocks with a 2x2 max-pool after each, and a last stage of blocks on the pooled map, the code.
///
/// The default is the paper's for gray patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EncoderConfig {
    /// Channels of the patch.
    pub in_channels: usize,
    /// Channels of the first level; each next level has twice as many.
    pub base_channels: usize,
    /// Levels; each halves both sides and drops an odd last row or column, so that a patch of `2^levels` px becomes one
    /// pixel.
    pub levels: u32,
    /// Residual blocks on each level.
    pub blocks_per_level: usize,
    /// Style of the blocks.
    pub style: BlockStyle,
    /// Channels of the code; by default those of the last level. A narrow code can represent little more than one shape
    /// and its intensity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_channels: Option<usize>,
}

impl Default for EncoderConfig {
    fn default() -> Self {
        Self::paper(1)
    }
}

impl EncoderConfig {
    /// Most levels.
    pub const MAX_LEVELS: u32 = 16;
    /// Most residual blocks on each level.
    pub const MAX_BLOCKS_PER_LEVEL: usize = 64;

    /// Five levels of three blocks for patches of 32 x 32 px.
    ///
    /// The paper gives no widths; 8 to 128 are the released code's.
    pub fn paper(in_channels: usize) -> Self {
        Self {
            in_channels,
            base_channels: 8,
            levels: 5,
            blocks_per_level: 3,
            style: BlockStyle::Paper,
            code_channels: None,
        }
    }

    /// The released code's encoder.
    pub fn official() -> Self {
        Self {
            style: BlockStyle::Official,
            ..Self::paper(3)
        }
    }

    /// Refuses settings that are too large to describe a network.
    ///
    /// # Errors
    /// When a setting is above its limit.
    pub fn check(&self) -> Result<(), NetworkError> {
        let levels = [self.levels, Self::MAX_LEVELS].map(|levels| levels as usize);
        NetworkError::at_most("`levels`", levels[0], levels[1])?;
        let blocks = self.blocks_per_level;
        NetworkError::at_most("`blocks_per_level`", blocks, Self::MAX_BLOCKS_PER_LEVEL)?;
        let channels = [
            ("`in_channels`", self.in_channels),
            ("`base_channels`", self.base_channels),
            ("`code_channels`", self.code_channels.unwrap_or(1)),
        ];
        for (name, channels) in channels {
            NetworkError::at_most(name, channels, Network::MAX_CHANNELS)?;
        }
        let widest = self.base_channels << self.levels.saturating_sub(1);
        let what = "`base_channels`, doubled for each further level";
        NetworkError::at_most(what, widest, Network::MAX_CHANNELS)
    }

    /// Channels of each level, finest first.
    pub(super) fn level_channels(&self) -> Vec<usize> {
        (0..self.levels)
            .map(|level| self.base_channels << level)
            .collect()
    }

    /// Channels of the code.
    fn code_width(&self) -> usize {
        let last_level = self.level_channels().last().copied();
        self.code_channels
            .or(last_level)
            .unwrap_or(self.base_channels)
    }

    /// Residual blocks of one level.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Layer> + use<> {
        std::iter::repeat_n(self.style.residual(Padding::Same), self.blocks_per_level)
    }

    /// Layers from the patch to the code.
    pub(super) fn layers(&self) -> Vec<Layer> {
        let mut layers = Vec::new();
        for out_channels in self.level_channels() {
            let widen = Layer::Conv1x1 { out_channels };
            if layers.is_empty() {
                layers.push(widen);
            } else {
                layers.extend(self.style.between_blocks(widen));
            }
            layers.extend(self.blocks());
            layers.push(Layer::MaxPool2);
        }
        let code = Layer::Conv1x1 {
            out_channels: self.code_width(),
        };
        layers.extend(self.style.between_blocks(code));
        layers.extend(self.blocks());
        layers
    }
}
