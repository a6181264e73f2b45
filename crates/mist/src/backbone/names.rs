//! Where torchvision keeps the weights of each convolution.

use mist_kernels::network::{Layer, Network};

use super::{Architecture, NamedWeights};
use crate::Error;

/// Added to the variance in torchvision's batch norms.
const EPSILON: f64 = 1e-5;

/// A convolution's name and that of the batch norm after it.
struct ConvNames {
    conv: String,
    norm: String,
}

impl ConvNames {
    fn new(conv: String, norm: String) -> Self {
        Self { conv, norm }
    }
}

/// The flat parameters of a network: each convolution's weights times its norm's factor, and the bias that is left.
///
/// Weights without norms, folded already, have a bias beside the weight.
pub(super) fn folded(
    architecture: Architecture,
    network: &Network,
    weights: &NamedWeights,
) -> Result<Vec<f32>, Error> {
    let names = names_of(architecture, network);
    let specs = network.parameters();
    let mut flat = Vec::with_capacity(network.parameter_count());
    for (names, pair) in names.iter().zip(specs.chunks_exact(2)) {
        let shape = &pair[0].shape;
        let channels = [shape[0]];
        let values = weights.get(&format!("{}.weight", names.conv), shape)?;
        let bias = format!("{}.bias", names.conv);
        if weights.has(&bias) {
            flat.extend_from_slice(values);
            flat.extend_from_slice(weights.get(&bias, &channels)?);
            continue;
        }
        let part = |part: &str| weights.get(&format!("{}.{part}", names.norm), &channels);
        let (scale, shift) = (part("weight")?, part("bias")?);
        let (mean, variance) = (part("running_mean")?, part("running_var")?);
        let factors: Vec<f32> = (scale.iter().zip(variance))
            .map(|(scale, variance)| {
                (f64::from(*scale) / (f64::from(*variance) + EPSILON).sqrt()) as f32
            })
            .collect();
        let kernel = values.len() / channels[0].max(1);
        for (kernel, factor) in values.chunks_exact(kernel.max(1)).zip(&factors) {
            flat.extend(kernel.iter().map(|value| value * factor));
        }
        let rest = factors.iter().zip(shift).zip(mean);
        flat.extend(rest.map(|((factor, shift), mean)| shift - mean * factor));
    }
    match flat.len() == network.parameter_count() {
        true => Ok(flat),
        false => Err(Error::ParameterCount {
            expected: network.parameter_count(),
            actual: flat.len(),
        }),
    }
}

/// Names of all convolutions, in the order of the parameters.
fn names_of(architecture: Architecture, network: &Network) -> Vec<ConvNames> {
    match architecture {
        Architecture::ResNet18 | Architecture::ResNet34 => resnet(network),
        Architecture::MobileNetV2 => mobilenet_v2(network),
    }
}

fn resnet(network: &Network) -> Vec<ConvNames> {
    let mut names = vec![ConvNames::new("conv1".to_owned(), "bn1".to_owned())];
    let (mut stage, mut index, mut channels) = (1, 0, 64);
    for layer in network.layers() {
        let Layer::BasicBlock(block) = layer else {
            continue;
        };
        if block.out_channels != channels {
            (stage, index) = (stage + 1, 0);
        }
        let within = |part: &str| format!("layer{stage}.{index}.{part}");
        for number in [1, 2] {
            names.push(ConvNames::new(
                within(&format!("conv{number}")),
                within(&format!("bn{number}")),
            ));
        }
        if block.projects(channels) {
            names.push(ConvNames::new(
                within("downsample.0"),
                within("downsample.1"),
            ));
        }
        (channels, index) = (block.out_channels, index + 1);
    }
    names
}

fn mobilenet_v2(network: &Network) -> Vec<ConvNames> {
    let mut names = Vec::new();
    for (index, layer) in network.layers().iter().enumerate() {
        let pair = |conv: String, norm: String| {
            ConvNames::new(
                format!("features.{index}.{conv}"),
                format!("features.{index}.{norm}"),
            )
        };
        match layer {
            Layer::InvertedResidual(block) => {
                // Each convolution but the last stands in a group of its own with its norm.
                let groups = if block.expansion > 1 { 2 } else { 1 };
                for group in 0..groups {
                    names.push(pair(format!("conv.{group}.0"), format!("conv.{group}.1")));
                }
                names.push(pair(
                    format!("conv.{groups}"),
                    format!("conv.{}", groups + 1),
                ));
            }
            // The expansion of the next block, the last layer here.
            Layer::StridedConv(_) if index > 0 => {
                names.push(pair("conv.0.0".to_owned(), "conv.0.1".to_owned()));
            }
            _ => names.push(pair("0".to_owned(), "1".to_owned())),
        }
    }
    names
}
