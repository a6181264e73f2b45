//! The hourglasses, the features and their codes.

use burn::tensor::{Device, Tensor};
use mist_kernels::network::{Layer, Network, NetworkError, Padding};

use super::Zha18Config;
use crate::Error;
use crate::baselines::named_networks::{NamedNetworks, TrainedNetworks};
use crate::model::ModelConfig;
use crate::networks::InputStatistics;
use crate::training::Setup;

/// Channels of the hourglass, from the widest map to the narrowest.
const CHANNELS: [usize; 4] = [32, 64, 64, 64];
/// Channels of the maps that codes are pooled from.
const FEATURES: usize = 32;
/// Widths of the maps that the decoder sees.
pub(super) const WIDTHS: usize = 5;

/// The networks by place in [`Networks::NAMES`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// Image to responses of the landmarks and the background.
    Landmarks,
    /// Image to maps of features.
    Features,
    /// A landmark's mean feature to its code.
    Code,
    /// Maps of places and codes to an image.
    Decoder,
}

/// All weights of the method.
#[derive(Clone, Debug)]
pub(super) struct Networks(pub NamedNetworks);

impl Networks {
    pub const NAMES: &'static [&'static str] = &["landmarks", "features", "code", "decoder"];

    /// Those of trained weights.
    pub fn from_safetensors(
        config: &Zha18Config,
        model: &ModelConfig,
        bytes: &[u8],
        device: &Device,
    ) -> Result<Self, Error> {
        let networks = descriptions(config, model)?;
        let named = NamedNetworks::from_safetensors(Self::NAMES, networks, bytes, device)?;
        Ok(Self(named))
    }

    /// Fresh ones for a training.
    pub fn under_training(
        config: &Zha18Config,
        setup: Setup<'_>,
    ) -> Result<TrainedNetworks, Error> {
        let networks = descriptions(config, setup.model)?;
        TrainedNetworks::new(Self::NAMES, networks, setup)
    }

    /// Runs one network on maps, `[batch, channels, height, width]`.
    pub fn run(&self, part: Part, maps: Tensor<4>) -> Result<Tensor<4>, Error> {
        self.0
            .module(part as usize)
            .forward(maps, InputStatistics::Running)
    }
}

/// Convolutions down to an eighth of the side and up again, with what was there before added at every level.
fn hourglass(in_channels: usize, out_channels: usize) -> Result<Network, NetworkError> {
    let conv = |out_channels| {
        let padding = Padding::Same;
        let conv = Layer::Conv3x3 {
            out_channels,
            padding,
        };
        [conv, Layer::Relu]
    };
    let mut layers = Vec::new();
    for (level, channels) in CHANNELS.into_iter().enumerate() {
        if level > 0 {
            layers.extend([Layer::Branch, Layer::MaxPool2]);
        }
        layers.extend(conv(channels));
        layers.extend(conv(channels));
    }
    for out_channels in CHANNELS.into_iter().rev().skip(1) {
        layers.extend([Layer::UpConv2 { out_channels }, Layer::Join]);
        layers.extend(conv(out_channels));
    }
    layers.push(Layer::Conv1x1 { out_channels });
    Network::new(in_channels, layers)
}

/// In the order of [`Networks::NAMES`].
fn descriptions(config: &Zha18Config, model: &ModelConfig) -> Result<Vec<Network>, NetworkError> {
    let (channels, landmarks) = (model.image_channels(), model.extractor.instances);
    let conv = || Layer::Conv3x3 {
        out_channels: FEATURES,
        padding: Padding::Same,
    };
    let features = vec![conv(), Layer::Relu, conv(), Layer::Relu];
    let code = Layer::Dense {
        out_features: config.code_units,
    };
    Ok(vec![
        hourglass(channels, landmarks + 1)?,
        Network::new(channels, features)?,
        Network::new(FEATURES, vec![code])?,
        hourglass(WIDTHS * (landmarks + 1 + config.code_units), channels)?,
    ])
}
