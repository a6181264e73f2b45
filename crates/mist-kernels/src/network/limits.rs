//! The largest networks and inputs that are accepted.
//!
//! Far above any network that makes sense here, and low enough that sizes multiply without overflow and that a wrong
//! number in a description is an error instead of an allocation that no machine can serve.

use std::fmt::Display;

use super::{Layer, Network, NetworkError, Shape};

impl Network {
    /// Most layers of a network.
    pub const MAX_LAYERS: usize = 4096;
    /// Most channels of the input and of each layer's output.
    pub const MAX_CHANNELS: usize = 65_536;
    /// Most pixels that a [`Layer::ReflectPad`] adds at each side.
    pub const MAX_PADDING_PX: usize = 4096;
    /// Largest kernel, stride and expansion of a backbone's layers.
    pub const MAX_KERNEL: usize = 64;
    /// Most parameters in all.
    pub const MAX_PARAMETERS: usize = 1 << 28;
    /// Most rows and most columns of the input and of each layer's output.
    pub const MAX_SIDE_PX: usize = 65_536;
    /// Most values of one sample of the input and of each layer's output.
    pub const MAX_SAMPLE_VALUES: usize = 1 << 31;

    /// Checks everything but the number of parameters.
    pub(super) fn check_layers(in_channels: usize, layers: &[Layer]) -> Result<(), NetworkError> {
        NetworkError::at_most("layers", layers.len(), Self::MAX_LAYERS)?;
        if in_channels == 0 {
            return Err(NetworkError::NoChannels { layer: 0 });
        }
        NetworkError::at_most("channels of the input", in_channels, Self::MAX_CHANNELS)?;
        let mut reads_raw_input = true;
        let mut open = Vec::new();
        for (index, layer) in layers.iter().enumerate() {
            if let Some(channels) = layer.out_channels() {
                if channels == 0 {
                    return Err(NetworkError::NoChannels { layer: index });
                }
                let what = format_args!("channels of layer {index}");
                NetworkError::at_most(what, channels, Self::MAX_CHANNELS)?;
            }
            if let Layer::ReflectPad { px } = *layer {
                let what = format_args!("padding of layer {index} in px");
                NetworkError::at_most(what, px, Self::MAX_PADDING_PX)?;
            }
            if let Some((what, value, limit)) = layer.oversized() {
                let what = format_args!("{what} of layer {index}");
                NetworkError::at_most(what, value, limit)?;
            }
            if *layer == Layer::BatchNorm && !reads_raw_input {
                return Err(NetworkError::BatchNormInside { layer: index });
            }
            match layer {
                Layer::Branch => open.push(index),
                Layer::Join if open.pop().is_none() => {
                    return Err(NetworkError::Unpaired { layer: index });
                }
                _ => {}
            }
            reads_raw_input &= matches!(layer, Layer::ReflectPad { .. });
        }
        match open.first() {
            Some(&layer) => Err(NetworkError::Unpaired { layer }),
            None => Ok(()),
        }
    }
}

impl Layer {
    /// A kernel, stride or expansion that is out of range: its name, its size and the most that it may be.
    fn oversized(&self) -> Option<(&'static str, usize, usize)> {
        let (kernel, stride, expansion) = match *self {
            Self::StridedConv(conv) => (conv.kernel_px, conv.stride, 1),
            Self::BasicBlock(block) => (3, block.stride, 1),
            Self::InvertedResidual(block) => (3, block.stride, block.expansion),
            _ => return None,
        };
        let limit = Network::MAX_KERNEL;
        // Nothing and even kernels are as impossible as what is too large.
        [
            ("kernel", if kernel % 2 == 1 { kernel } else { usize::MAX }),
            ("stride", if stride > 0 { stride } else { usize::MAX }),
            (
                "expansion",
                if expansion > 0 { expansion } else { usize::MAX },
            ),
        ]
        .into_iter()
        .find(|(_, value)| *value > limit)
        .map(|(what, value)| (what, value, limit))
    }
}

impl Shape {
    /// Checks one sample's size; `what` names it.
    pub(super) fn check_size(self, what: impl Display) -> Result<(), NetworkError> {
        let side_px = self.height_px.max(self.width_px);
        let side = format_args!("longer side of {what} in px");
        NetworkError::at_most(side, side_px, Network::MAX_SIDE_PX)?;
        let values = format_args!("values of {what}");
        NetworkError::at_most(values, self.len(), Network::MAX_SAMPLE_VALUES)
    }
}
