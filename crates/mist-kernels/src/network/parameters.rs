//! Names, shapes and places of a network's parameters in one flat vector.

use super::{Layer, Network, NetworkError};

/// What a parameter does, which decides how it is initialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterRole {
    /// Weight of a layer whose outputs each sum `fan_in` inputs.
    Weight {
        /// Inputs per output.
        fan_in: usize,
    },
    /// Bias of a layer whose outputs each sum `fan_in` inputs.
    Bias {
        /// Inputs per output.
        fan_in: usize,
    },
    /// A norm's factor per channel.
    NormScale,
    /// A norm's offset per channel.
    NormShift,
}

/// One parameter tensor and where it lies in the flat vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSpec {
    /// `<layer index>.<part>.<weight|bias>`.
    pub name: String,
    /// Row-major shape: `[out, in, 3, 3]` for convolutions, `[in, out, 2, 2]` for transposed convolutions,
    /// `[out, in]` for dense layers, `[channels]` for biases and norms.
    pub shape: Vec<usize>,
    /// Index of its first value.
    pub offset: usize,
    /// What it does.
    pub role: ParameterRole,
}

impl ParameterSpec {
    /// Values in this tensor.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the tensor holds no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Network {
    /// All parameters, in the order of the flat vector.
    pub fn parameters(&self) -> Vec<ParameterSpec> {
        let mut specs = Vec::new();
        let mut offset = 0;
        for (index, channels, layer) in with_channels(self.in_channels, &self.layers) {
            for part in layer.parts(channels) {
                for (value, shape, role) in part.tensors {
                    let spec = ParameterSpec {
                        name: format!("{index}.{}.{value}", part.name),
                        shape,
                        offset,
                        role,
                    };
                    offset += spec.len();
                    specs.push(spec);
                }
            }
        }
        specs
    }

    /// Length of the flat vector.
    pub fn parameter_count(&self) -> usize {
        self.parameter_count
    }

    /// Counts the parameters of layers that [`Network::check_layers`] accepts.
    pub(super) fn count_parameters(
        in_channels: usize,
        layers: &[Layer],
    ) -> Result<usize, NetworkError> {
        let mut count: u64 = 0;
        for (_, channels, layer) in with_channels(in_channels, layers) {
            for (_, shape, _) in layer.parts(channels).into_iter().flat_map(|p| p.tensors) {
                let values = shape.iter().map(|&size| size as u64);
                count = count.saturating_add(values.fold(1, u64::saturating_mul));
            }
        }
        let limit = Self::MAX_PARAMETERS;
        usize::try_from(count)
            .ok()
            .filter(|&count| count <= limit)
            .ok_or_else(|| NetworkError::TooLarge {
                what: "parameters".to_owned(),
                actual: count,
                limit: limit as u64,
            })
    }
}

/// Index, input channels and layer, for each layer.
fn with_channels(
    in_channels: usize,
    layers: &[Layer],
) -> impl Iterator<Item = (usize, usize, &Layer)> {
    layers
        .iter()
        .enumerate()
        .scan(in_channels, |next, (index, layer)| {
            let channels = *next;
            *next = layer.out_channels().unwrap_or(channels);
            Some((index, channels, layer))
        })
}

/// A convolution, dense layer or norm within a layer.
struct Part {
    name: &'static str,
    /// `weight` and `bias` with their shapes.
    tensors: [(&'static str, Vec<usize>, ParameterRole); 2],
}

impl Part {
    fn affine(name: &'static str, weight: &[usize], fan_in: usize, out: usize) -> Self {
        let tensors = [
            ("weight", weight.to_vec(), ParameterRole::Weight { fan_in }),
            ("bias", vec![out], ParameterRole::Bias { fan_in }),
        ];
        Self { name, tensors }
    }

    fn norm(name: &'static str, channels: usize) -> Self {
        let tensors = [
            ("weight", vec![channels], ParameterRole::NormScale),
            ("bias", vec![channels], ParameterRole::NormShift),
        ];
        Self { name, tensors }
    }
}

impl Layer {
    /// The parts that hold parameters, for an input of `channels`.
    fn parts(&self, channels: usize) -> Vec<Part> {
        let affine = Part::affine;
        match *self {
            Self::BatchNorm | Self::Norm => vec![Part::norm("norm", channels)],
            Self::Conv1x1 { out_channels: out } => {
                vec![affine("conv", &[out, channels, 1, 1], channels, out)]
            }
            Self::Conv3x3 {
                out_channels: out, ..
            } => vec![affine("conv", &[out, channels, 3, 3], 9 * channels, out)],
            Self::Residual(block) => {
                let shape = [channels, channels, 3, 3];
                let conv = |name| affine(name, &shape, 9 * channels, channels);
                let mut parts = vec![conv("conv1"), conv("conv2"), Part::norm("norm1", channels)];
                if !block.shared_norm {
                    parts.push(Part::norm("norm2", channels));
                }
                parts
            }
            Self::UpConv2 { out_channels: out } => {
                vec![affine("upconv", &[channels, out, 2, 2], channels, out)]
            }
            Self::Dense { out_features: out } => {
                vec![affine("dense", &[out, channels], channels, out)]
            }
            Self::StridedConv(conv) => {
                let (out, side) = (conv.out_channels, conv.kernel_px);
                let fan_in = side * side * channels;
                vec![affine("conv", &[out, channels, side, side], fan_in, out)]
            }
            Self::BasicBlock(block) => {
                let out = block.out_channels;
                let conv = |name, from| affine(name, &[out, from, 3, 3], 9 * from, out);
                let mut parts = vec![conv("conv1", channels), conv("conv2", out)];
                if block.projects(channels) {
                    parts.push(affine("project", &[out, channels, 1, 1], channels, out));
                }
                parts
            }
            Self::InvertedResidual(block) => {
                let (out, hidden) = (block.out_channels, block.expansion * channels);
                let mut parts = Vec::new();
                if block.expansion > 1 {
                    parts.push(affine(
                        "expand",
                        &[hidden, channels, 1, 1],
                        channels,
                        hidden,
                    ));
                }
                parts.push(affine("depthwise", &[hidden, 1, 3, 3], 9, hidden));
                parts.push(affine("project", &[out, hidden, 1, 1], hidden, out));
                parts
            }
            Self::ReflectPad { .. }
            | Self::MaxPool3
            | Self::Relu
            | Self::MaxPool2
            | Self::Branch
            | Self::Join
            | Self::GlobalAveragePool
            | Self::Sigmoid
            | Self::Softplus
            | Self::Softmax => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{NormPlacement, Padding, ResidualBlock};

    #[test]
    fn parameters_lie_end_to_end_in_layer_order() {
        let block = ResidualBlock {
            padding: Padding::Same,
            norm: NormPlacement::Before,
            shared_norm: false,
        };
        let network = Network::new(
            2,
            vec![
                Layer::BatchNorm,
                Layer::Conv1x1 { out_channels: 4 },
                Layer::Residual(block),
                Layer::UpConv2 { out_channels: 3 },
                Layer::Conv3x3 {
                    out_channels: 1,
                    padding: Padding::Same,
                },
                Layer::GlobalAveragePool,
                Layer::Dense { out_features: 5 },
            ],
        )
        .unwrap();
        let specs = network.parameters();
        let mut offset = 0;
        for spec in &specs {
            assert_eq!(spec.offset, offset, "{}", spec.name);
            offset += spec.len();
        }
        assert_eq!(offset, network.parameter_count());
        let named = |name: &str| specs.iter().find(|spec| spec.name == name).unwrap();
        assert_eq!(named("0.norm.weight").shape, [2]);
        assert_eq!(named("1.conv.weight").shape, [4, 2, 1, 1]);
        assert_eq!(named("2.norm2.bias").shape, [4]);
        assert_eq!(named("3.upconv.weight").shape, [4, 3, 2, 2]);
        assert_eq!(named("4.conv.weight").shape, [1, 3, 3, 3]);
        assert_eq!(named("6.dense.weight").shape, [5, 1]);
        assert_eq!(
            network.parameter_count(),
            4 + 12 + (2 * (4 * 4 * 9 + 4) + 16) + 51 + 28 + 10
        );
    }

    #[test]
    fn a_shared_norm_is_stored_once() {
        let with = |shared_norm| {
            let block = ResidualBlock {
                padding: Padding::Same,
                norm: NormPlacement::After,
                shared_norm,
            };
            Network::new(8, vec![Layer::Residual(block)])
                .unwrap()
                .parameter_count()
        };
        assert_eq!(with(false) - with(true), 16);
    }
}
