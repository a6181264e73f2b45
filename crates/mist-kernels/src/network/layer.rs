//! The layers of a network.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{BasicBlock, InvertedResidual, Shape, StridedConv};

/// Padding of a 3x3 convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Padding {
    /// One pixel of zeros at each side; the size stays.
    Same,
    /// None; height and width shrink by two.
    Valid,
}

/// Where a residual block normalises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NormPlacement {
    /// Norm, conv, ReLU, norm, conv, add, ReLU.
    Before,
    /// Conv, norm, ReLU, conv, norm, add, ReLU.
    After,
}

/// A residual block of two 3x3 convolutions that keeps its channels.
///
/// With [`Padding::Valid`] the skipped input is cropped by two pixels on each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResidualBlock {
    /// Padding of both convolutions.
    pub padding: Padding,
    /// Where the norms are.
    pub norm: NormPlacement,
    /// Whether both norms share one scale and shift.
    pub shared_norm: bool,
}

/// One layer of a network, with shapes as `[channels, height, width]` of one sample.
///
/// Every norm is computed with epsilon [`Layer::NORM_EPSILON`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Layer {
    /// Reflection padding: mirrors `px` pixels at each side, without repeating the edge.
    ReflectPad {
        /// Pixels added at each side.
        px: usize,
    },
    /// Per-channel norm over batch and pixels; for the network's input only.
    BatchNorm,
    /// Per-sample norm over channels and pixels with a scale and shift per channel.
    Norm,
    /// 1x1 convolution.
    Conv1x1 {
        /// Channels of the output.
        out_channels: usize,
    },
    /// 3x3 convolution.
    Conv3x3 {
        /// Channels of the output.
        out_channels: usize,
        /// Padding.
        padding: Padding,
    },
    /// Residual block.
    Residual(ResidualBlock),
    /// Rectified linear unit, `max(x, 0)`.
    Relu,
    /// 2x2 max-pool with stride 2: halves height and width, and drops an odd last row or column.
    MaxPool2,
    /// 2x2 transposed convolution with stride 2: doubles height and width.
    UpConv2 {
        /// Channels of the output.
        out_channels: usize,
    },
    /// Leaves the map as it is and keeps it for the [`Layer::Join`] that closes this branch; branches nest.
    Branch,
    /// Adds the map that the newest open [`Layer::Branch`] kept, which has the same shape, then `max(x, 0)`.
    Join,
    /// Mean over all pixels, to `[channels, 1, 1]`.
    GlobalAveragePool,
    /// Dense layer on a single pixel, `[channels, 1, 1]` to `[out_features, 1, 1]`.
    Dense {
        /// Features of the output.
        out_features: usize,
    },
    /// Logistic function, `1 / (1 + exp(-x))`.
    Sigmoid,
    /// A smooth rectifier, `ln(1 + exp(x))`.
    Softplus,
    /// Softmax over channels.
    Softmax,
    /// Convolution with a stride; forward only.
    StridedConv(StridedConv),
    /// 3x3 max-pool with stride 2, framed by one pixel: halves height and width, rounding up; forward only.
    MaxPool3,
    /// Block of ResNet; forward only.
    BasicBlock(BasicBlock),
    /// Block of MobileNetV2; forward only.
    InvertedResidual(InvertedResidual),
}

impl Layer {
    /// Added to the variance in every norm.
    pub const NORM_EPSILON: f64 = 1e-5;

    /// Channels of the output, unless they are always those of the input.
    pub(super) fn out_channels(&self) -> Option<usize> {
        match *self {
            Self::Conv1x1 { out_channels }
            | Self::Conv3x3 { out_channels, .. }
            | Self::UpConv2 { out_channels } => Some(out_channels),
            Self::Dense { out_features } => Some(out_features),
            Self::StridedConv(conv) => Some(conv.out_channels),
            Self::BasicBlock(block) => Some(block.out_channels),
            Self::InvertedResidual(block) => Some(block.out_channels),
            _ => None,
        }
    }

    /// Whether there is no backward pass for it on the CPU.
    pub(super) fn is_forward_only(&self) -> bool {
        matches!(
            self,
            Self::StridedConv(_) | Self::MaxPool3 | Self::BasicBlock(_) | Self::InvertedResidual(_)
        )
    }

    /// Multiplications with weights between two shapes that [`Shape::check_size`] accepts.
    pub(super) fn multiplications(&self, input: Shape, output: Shape) -> u64 {
        let area = |lost_px| {
            let [height, width] = [output.height_px, output.width_px].map(|px| px + lost_px);
            height as u64 * width as u64
        };
        let [from, to] = [input.channels as u64, output.channels as u64];
        let wide = (input.height_px * input.width_px) as u64;
        match *self {
            Self::StridedConv(conv) => {
                return area(0) * (conv.kernel_px * conv.kernel_px) as u64 * from * to;
            }
            Self::BasicBlock(block) => {
                let projection = u64::from(block.projects(input.channels));
                return area(0) * to * (9 * from + 9 * to + projection * from);
            }
            Self::InvertedResidual(block) => {
                let hidden = from * block.expansion as u64;
                let expansion = u64::from(block.expansion > 1) * wide * from * hidden;
                return expansion + area(0) * hidden * (9 + to);
            }
            _ => {}
        }
        let per_channel_pair = match *self {
            Self::Conv1x1 { .. } | Self::UpConv2 { .. } | Self::Dense { .. } => area(0),
            Self::Conv3x3 { .. } => 9 * area(0),
            Self::Residual(block) => 9 * (area(block.padding.shrinks_by_px()) + area(0)),
            _ => 0,
        };
        per_channel_pair.saturating_mul(input.channels as u64 * output.channels as u64)
    }

    /// The shape that follows `input`, or `None` if the layer cannot read it.
    pub(crate) fn output_shape(&self, input: Shape) -> Option<Shape> {
        let Shape {
            channels,
            height_px,
            width_px,
        } = input;
        let shrunk = |channels, px: usize| {
            let height_px = height_px.checked_sub(px).filter(|&side| side > 0)?;
            let width_px = width_px.checked_sub(px).filter(|&side| side > 0)?;
            Some(Shape::new(channels, height_px, width_px))
        };
        match *self {
            _ if input.is_empty() => None,
            Self::ReflectPad { px } => {
                let padded = |side_px: usize| side_px.saturating_add(px.saturating_mul(2));
                (px < height_px && px < width_px)
                    .then(|| Shape::new(channels, padded(height_px), padded(width_px)))
            }
            Self::Conv1x1 { out_channels } => Some(Shape::new(out_channels, height_px, width_px)),
            Self::Conv3x3 {
                out_channels,
                padding,
            } => shrunk(out_channels, padding.shrinks_by_px()),
            Self::Residual(block) => shrunk(channels, 2 * block.padding.shrinks_by_px()),
            Self::MaxPool2 => (height_px > 1 && width_px > 1)
                .then(|| Shape::new(channels, height_px / 2, width_px / 2)),
            Self::UpConv2 { out_channels } => {
                let [height_px, width_px] = [height_px, width_px].map(|px| px.saturating_mul(2));
                Some(Shape::new(out_channels, height_px, width_px))
            }
            Self::GlobalAveragePool => Some(Shape::new(channels, 1, 1)),
            Self::Dense { out_features } => {
                (height_px == 1 && width_px == 1).then(|| Shape::new(out_features, 1, 1))
            }
            Self::StridedConv(StridedConv {
                out_channels,
                stride,
                ..
            })
            | Self::BasicBlock(BasicBlock {
                out_channels,
                stride,
            })
            | Self::InvertedResidual(InvertedResidual {
                out_channels,
                stride,
                ..
            }) => {
                let [height_px, width_px] = [height_px, width_px].map(|px| px.div_ceil(stride));
                Some(Shape::new(out_channels, height_px, width_px))
            }
            Self::MaxPool3 => {
                let [height_px, width_px] = [height_px, width_px].map(|px| px.div_ceil(2));
                Some(Shape::new(channels, height_px, width_px))
            }
            Self::BatchNorm
            | Self::Norm
            | Self::Relu
            | Self::Branch
            | Self::Join
            | Self::Sigmoid
            | Self::Softplus
            | Self::Softmax => Some(input),
        }
    }
}

impl Padding {
    /// Pixels that one 3x3 convolution takes off each side length.
    pub fn shrinks_by_px(self) -> usize {
        match self {
            Self::Same => 0,
            Self::Valid => 2,
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReflectPad { px } => write!(f, "reflection pad {px}"),
            Self::BatchNorm => f.write_str("batch norm"),
            Self::Norm => f.write_str("norm"),
            Self::Conv1x1 { out_channels } => write!(f, "conv 1x1 to {out_channels}"),
            Self::Conv3x3 { out_channels, .. } => write!(f, "conv 3x3 to {out_channels}"),
            Self::Residual(_) => f.write_str("residual block"),
            Self::Relu => f.write_str("ReLU"),
            Self::MaxPool2 => f.write_str("max-pool 2x2"),
            Self::UpConv2 { out_channels } => write!(f, "up-conv 2x2 to {out_channels}"),
            Self::Branch => f.write_str("branch"),
            Self::Join => f.write_str("join"),
            Self::GlobalAveragePool => f.write_str("global average pool"),
            Self::Dense { out_features } => write!(f, "dense to {out_features}"),
            Self::Sigmoid => f.write_str("sigmoid"),
            Self::Softplus => f.write_str("softplus"),
            Self::Softmax => f.write_str("softmax"),
            Self::StridedConv(conv) => {
                let StridedConv {
                    out_channels,
                    kernel_px,
                    stride,
                    ..
                } = conv;
                write!(
                    f,
                    "conv {kernel_px}x{kernel_px} by {stride} to {out_channels}"
                )
            }
            Self::MaxPool3 => f.write_str("max-pool 3x3"),
            Self::BasicBlock(block) => write!(f, "basic block to {}", block.out_channels),
            Self::InvertedResidual(block) => {
                write!(f, "inverted residual to {}", block.out_channels)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_residual_blocks_take_four_pixels() {
        let block = Layer::Residual(ResidualBlock {
            padding: Padding::Valid,
            norm: NormPlacement::After,
            shared_norm: true,
        });
        assert_eq!(
            block.output_shape(Shape::new(32, 96, 96)),
            Some(Shape::new(32, 92, 92))
        );
        assert_eq!(block.output_shape(Shape::new(32, 4, 9)), None);
    }

    #[test]
    fn layers_refuse_what_they_cannot_read() {
        let too_wide = Layer::ReflectPad { px: 8 };
        assert_eq!(too_wide.output_shape(Shape::new(1, 8, 20)), None);
        let dense = Layer::Dense { out_features: 10 };
        assert_eq!(dense.output_shape(Shape::new(128, 2, 2)), None);
        assert_eq!(Layer::MaxPool2.output_shape(Shape::new(8, 1, 1)), None);
    }
}
