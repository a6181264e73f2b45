//! The convolutional part of the heatmap network H (paper, appendix A).

use mist_kernels::network::{Layer, Network, NetworkError, Padding};
use serde::{Deserialize, Serialize};

use super::BlockStyle;

/// A fully convolutional network that scores every pixel.
///
/// The default is the paper's for gray images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DetectorConfig {
    /// Channels of the image.
    pub in_channels: usize,
    /// Channels of the residual blocks.
    pub channels: usize,
    /// Residual blocks; of a detector with levels, pairs of convolutions on each of them.
    pub blocks: usize,
    /// How often the map is halved on the way down and doubled on the way up, for objects that differ much in size. 0 is
    /// the paper's: one resolution and a single output, the heatmap. With levels there are two, heatmap and size, and no
    /// norms.
    #[serde(skip_serializing_if = "is_zero")]
    pub levels: usize,
    /// Style of the blocks; the official one also has reflection padding and batch norm on the input.
    pub style: BlockStyle,
}

impl Default for DetectorConfig {
    fn default() -> Self {
        Self::paper(1)
    }
}

impl DetectorConfig {
    /// Most residual blocks.
    pub const MAX_BLOCKS: usize = 1024;
    /// Most levels.
    pub const MAX_LEVELS: usize = 8;

    /// Four blocks of 32 channels, layer norm before each convolution (appendix A).
    pub fn paper(in_channels: usize) -> Self {
        Self {
            in_channels,
            channels: 32,
            blocks: 4,
            levels: 0,
            style: BlockStyle::Paper,
        }
    }

    /// The released code's detector, with 74,407 parameters.
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
        NetworkError::at_most("`in_channels`", self.in_channels, Network::MAX_CHANNELS)?;
        NetworkError::at_most("`channels`", self.channels, Network::MAX_CHANNELS)?;
        NetworkError::at_most("`levels`", self.levels, Self::MAX_LEVELS)?;
        NetworkError::at_most("`blocks`", self.blocks, Self::MAX_BLOCKS)
    }

    /// The description of the network.
    ///
    /// # Shapes
    /// - input: `[batch, in_channels, height, width]`; with [`BlockStyle::Official`] both sides are longer than
    ///   `2 * blocks` px, the width of the mirrored border
    /// - output: `[batch, 1, height, width]`; with levels `[batch, 2, height, width]`, for sides that
    ///   [`DetectorConfig::side_multiple_px`] divides
    ///
    /// # Errors
    /// When a number of channels is zero or a setting is above its limit.
    pub fn network(&self) -> Result<Network, NetworkError> {
        self.check()?;
        if self.levels > 0 {
            return Network::new(self.in_channels, self.hourglass());
        }
        self.network_of(1)
    }

    /// The network without levels and with several outputs, as [`DetectorConfig::network`].
    ///
    /// # Errors
    /// As [`DetectorConfig::network`].
    pub fn network_of(&self, outputs: usize) -> Result<Network, NetworkError> {
        self.check()?;
        let mut layers = Vec::new();
        let padding = match self.style {
            BlockStyle::Paper => Padding::Same,
            BlockStyle::Official => {
                let px = self.blocks * Padding::Valid.shrinks_by_px();
                layers.extend([Layer::ReflectPad { px }, Layer::BatchNorm]);
                Padding::Valid
            }
        };
        layers.push(Layer::Conv1x1 {
            out_channels: self.channels,
        });
        layers.extend(std::iter::repeat_n(
            self.style.residual(padding),
            self.blocks,
        ));
        let head = Layer::Conv1x1 {
            out_channels: outputs,
        };
        layers.extend(self.style.between_blocks(head));
        Network::new(self.in_channels, layers)
    }

    /// What both sides of an image must be multiples of.
    pub fn side_multiple_px(&self) -> usize {
        1 << self.levels.min(Self::MAX_LEVELS)
    }

    /// How far a pixel of the output sees at most, in pixels.
    pub fn reach_px(&self) -> usize {
        let convolutions = 2 * self.blocks + 1;
        let on_level = |level: usize| (convolutions + 1) << level;
        (0..=self.levels).map(on_level).sum()
    }

    /// Down and up again, each level wider by `channels` than the one above, and joined with what it was on the way down
    /// (Ronneberger et al., 2015, with sums for concatenations).
    fn hourglass(&self) -> Vec<Layer> {
        let width = |level: usize| self.channels * (level + 1);
        let convolution = |level: usize| {
            let convolution = Layer::Conv3x3 {
                out_channels: width(level),
                padding: Padding::Same,
            };
            [convolution, Layer::Relu]
        };
        let stage = |level: usize| (0..2 * self.blocks).flat_map(move |_| convolution(level));
        let mut layers = Vec::new();
        for level in 0..self.levels {
            layers.extend(stage(level));
            layers.extend([Layer::Branch, Layer::MaxPool2]);
        }
        layers.extend(stage(self.levels));
        for level in (0..self.levels).rev() {
            let out_channels = width(level);
            layers.extend([Layer::UpConv2 { out_channels }, Layer::Join]);
            layers.extend(convolution(level));
        }
        layers.push(Layer::Conv1x1 { out_channels: 2 });
        layers
    }
}

fn is_zero(levels: &usize) -> bool {
    *levels == 0
}

#[cfg(test)]
mod tests {
    use mist_kernels::network::Shape;

    use super::*;

    #[test]
    fn parameter_counts_are_exact() {
        let count = |config: DetectorConfig| config.network().unwrap().parameter_count();
        assert_eq!(count(DetectorConfig::official()), 74_407);
        assert_eq!(count(DetectorConfig::paper(3)), 74_721);
    }

    #[test]
    fn a_detector_with_levels_tells_heat_and_size_of_every_pixel() {
        let config = DetectorConfig {
            channels: 4,
            blocks: 1,
            levels: 3,
            ..DetectorConfig::paper(1)
        };
        let network = config.network().unwrap();
        assert_eq!(config.side_multiple_px(), 8);
        let shape = network.output_shape(Shape::new(1, 40, 64)).unwrap();
        assert_eq!(shape, Shape::new(2, 40, 64));
        assert!(network.output_shape(Shape::new(1, 41, 64)).is_err());
    }

    #[test]
    fn the_heatmap_has_the_image_s_size() {
        for config in [DetectorConfig::official(), DetectorConfig::paper(3)] {
            let network = config.network().unwrap();
            let shape = network.output_shape(Shape::new(3, 80, 96)).unwrap();
            assert_eq!(shape, Shape::new(1, 80, 96));
        }
    }
}
