//! The classifier of patches of a feature map (paper, appendix C.1, "PASCAL+COCO").

use mist_kernels::network::{Layer, Network, NetworkError, NormPlacement, Padding, ResidualBlock};
use serde::{Deserialize, Serialize};

/// A 1x1 convolution, residual blocks, global average pool, dense to classes and background.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureClassifier {
    /// Channels of the features.
    pub in_channels: usize,
    /// Channels of the blocks; the released code has 512, the paper none but the features' own.
    pub channels: usize,
    /// Residual blocks; one in the paper, three in the released code.
    #[serde(default = "one")]
    pub blocks: usize,
    /// Classes and the background, which is the last.
    pub classes: usize,
}

fn one() -> usize {
    1
}

impl FeatureClassifier {
    /// Most residual blocks.
    pub const MAX_BLOCKS: usize = 64;

    /// The description.
    ///
    /// # Shapes
    /// - input: `[patches, in_channels, side, side]`
    /// - output: `[patches, classes, 1, 1]`, logits
    ///
    /// # Errors
    /// When a number is zero or above its limit.
    pub fn network(&self) -> Result<Network, NetworkError> {
        NetworkError::at_most("`blocks`", self.blocks, Self::MAX_BLOCKS)?;
        let block = Layer::Residual(ResidualBlock {
            padding: Padding::Same,
            norm: NormPlacement::Before,
            shared_norm: false,
        });
        let mut layers = vec![Layer::Conv1x1 {
            out_channels: self.channels,
        }];
        layers.extend(std::iter::repeat_n(block, self.blocks));
        layers.push(Layer::GlobalAveragePool);
        layers.push(Layer::Dense {
            out_features: self.classes,
        });
        Network::new(self.in_channels, layers)
    }
}
