//! The networks, as values.

use mist_kernels::network::{
    Activation, BasicBlock, InvertedResidual, Layer, Network, NetworkError, StridedConv,
};
use serde::{Deserialize, Serialize};

/// Which network photographs pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Architecture {
    /// ResNet18 up to its third stage (He et al., 2016).
    #[serde(rename = "resnet18")]
    ResNet18,
    /// ResNet34 up to its third stage; the paper's.
    #[serde(rename = "resnet34")]
    ResNet34,
    /// MobileNetV2 up to the expansion of its fourteenth block, the last map before the stride grows to 32 (Sandler et
    /// al., 2018).
    #[serde(rename = "mobilenet_v2")]
    MobileNetV2,
}

/// Expansion, channels, blocks and stride of MobileNetV2's stages up to stride 16.
const INVERTED: [[usize; 4]; 5] = [
    [1, 16, 1, 1],
    [6, 24, 2, 2],
    [6, 32, 3, 2],
    [6, 64, 4, 2],
    [6, 96, 3, 1],
];

impl Architecture {
    /// Pixels of the image per cell of the features.
    pub const STRIDE_PX: usize = 16;

    /// All of them.
    pub const ALL: [Self; 3] = [Self::ResNet18, Self::ResNet34, Self::MobileNetV2];

    /// Channels of the features.
    pub fn channels(self) -> usize {
        match self {
            Self::ResNet18 | Self::ResNet34 => 256,
            Self::MobileNetV2 => 576,
        }
    }

    /// The description, batch norms folded.
    ///
    /// # Errors
    /// None for the networks that there are.
    pub fn network(self) -> Result<Network, NetworkError> {
        let layers = match self {
            Self::ResNet18 => resnet([2, 2, 2]),
            Self::ResNet34 => resnet([3, 4, 6]),
            Self::MobileNetV2 => mobilenet_v2(),
        };
        Network::new(3, layers)
    }
}

fn conv(out_channels: usize, kernel_px: usize, stride: usize, activation: Activation) -> Layer {
    Layer::StridedConv(StridedConv {
        out_channels,
        kernel_px,
        stride,
        activation,
    })
}

/// Stages of 64, 128 and 256 channels with so many blocks each.
fn resnet(blocks: [usize; 3]) -> Vec<Layer> {
    let mut layers = vec![conv(64, 7, 2, Activation::Relu), Layer::MaxPool3];
    for (stage, blocks) in blocks.into_iter().enumerate() {
        let block = |index| BasicBlock {
            out_channels: 64 << stage,
            stride: if stage > 0 && index == 0 { 2 } else { 1 },
        };
        layers.extend((0..blocks).map(|index| Layer::BasicBlock(block(index))));
    }
    layers
}

fn mobilenet_v2() -> Vec<Layer> {
    let mut layers = vec![conv(32, 3, 2, Activation::Relu6)];
    for [expansion, out_channels, blocks, stride] in INVERTED {
        let block = |index| InvertedResidual {
            out_channels,
            expansion,
            stride: if index == 0 { stride } else { 1 },
        };
        layers.extend((0..blocks).map(|index| Layer::InvertedResidual(block(index))));
    }
    layers.push(conv(576, 1, 1, Activation::Relu6));
    layers
}

#[cfg(test)]
mod tests {
    use mist_kernels::network::Shape;

    use super::*;

    #[test]
    fn features_have_stride_16_and_known_costs() {
        // Parameters of torchvision's networks up to that layer, less two per normalised channel.
        let expected = [
            (Architecture::ResNet18, 2_780_544, 1_402_519_552),
            (Architecture::ResNet34, 8_165_376, 3_020_996_608),
            (Architecture::MobileNetV2, 590_336, 220_699_136),
        ];
        for (architecture, parameters, multiplications) in expected {
            let network = architecture.network().unwrap();
            let input = Shape::new(3, 224, 224);
            let output = Shape::new(architecture.channels(), 14, 14);
            assert_eq!(network.output_shape(input).unwrap(), output);
            assert_eq!(network.parameter_count(), parameters, "{architecture:?}");
            assert_eq!(network.multiplications(input).unwrap(), multiplications);
            assert!(network.is_forward_only());
        }
    }
}
