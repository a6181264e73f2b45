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
    /// Residual blocks.
    pub blocks: usize,
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

    /// Four blocks of 32 channels, layer norm before each convolution (appendix A).
    pub fn paper(in_channels: usize) -> Self {
        Self {
            in_channels,
            channels: 32,
            blocks: 4,
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
        NetworkError::at_most("`blocks`", self.blocks, Self::MAX_BLOCKS)
    }

    /// The description of the network.
    ///
    /// # Shapes
    /// - input: `[batch, in_channels, height, width]`; with [`BlockStyle::Official`] both sides are longer than
    ///   `2 * blocks` px, the width of the mirrored border
    /// - output: `[batch, 1, height, width]`
    ///
    /// # Errors
    /// When a number of channels is zero or a setting is above its limit.
    pub fn network(&self) -> Result<Network, NetworkError> {
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
        let head = Layer::Conv1x1 { out_channels: 1 };
        layers.extend(self.style.between_blocks(head));
        Network::new(self.in_channels, layers)
    }
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
    fn the_heatmap_has_the_image_s_size() {
        for config in [DetectorConfig::official(), DetectorConfig::paper(3)] {
            let network = config.network().unwrap();
            let shape = network.output_shape(Shape::new(3, 80, 96)).unwrap();
            assert_eq!(shape, Shape::new(1, 80, 96));
        }
    }
}
