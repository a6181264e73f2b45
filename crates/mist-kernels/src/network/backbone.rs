//! The layers of backbones for photographs, batch norms folded into their convolutions: they run forward only.

use serde::{Deserialize, Serialize};

/// What follows a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// Nothing.
    None,
    /// `max(x, 0)`.
    Relu,
    /// `min(max(x, 0), 6)`.
    Relu6,
}

/// A convolution with an odd square kernel and a stride, framed by half a kernel of zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StridedConv {
    /// Channels of the output.
    pub out_channels: usize,
    /// Side of the kernel, odd.
    pub kernel_px: usize,
    /// Pixels of the input per pixel of the output.
    pub stride: usize,
    /// What follows.
    pub activation: Activation,
}

/// The block of ResNet18 and ResNet34: conv 3x3 with a stride, ReLU, conv 3x3, plus the input, ReLU (He et al., 2016).
///
/// Where size or channels change, the input passes a 1x1 convolution with the same stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasicBlock {
    /// Channels of the output.
    pub out_channels: usize,
    /// Stride of the first convolution.
    pub stride: usize,
}

impl BasicBlock {
    /// Whether an input of `channels` is projected before it is added.
    pub fn projects(&self, channels: usize) -> bool {
        self.stride != 1 || self.out_channels != channels
    }
}

/// The block of MobileNetV2: conv 1x1 to `expansion` times the channels, depthwise conv 3x3 with a stride, each with ReLU6,
/// and a conv 1x1 (Sandler et al., 2018). The input is added where it has the output's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InvertedResidual {
    /// Channels of the output.
    pub out_channels: usize,
    /// Factor on the channels of the input; 1 leaves the first convolution out.
    pub expansion: usize,
    /// Stride of the depthwise convolution.
    pub stride: usize,
}

impl InvertedResidual {
    /// Whether an input of `channels` is added to the output.
    pub fn is_residual(&self, channels: usize) -> bool {
        self.stride == 1 && self.out_channels == channels
    }
}
