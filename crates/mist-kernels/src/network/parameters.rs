//! Names, shapes and places of a network's parameters in one flat vector.

use super::{Layer, Network};

/// What a parameter does, which decides how it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterRole {
    /// Multiplies inputs; `fan_in` of them meet in one output.
    Weight {
        /// Inputs per output.
        fan_in: usize,
    },
    /// Added to an output in which `fan_in` inputs meet.
    Bias {
        /// Inputs per output.
        fan_in: usize,
    },
    /// A norm's factor per channel.
    NormScale,
    /// A norm's summand per channel.
    NormShift,
}

/// One parameter tensor and where it lies in the flat vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSpec {
    /// `<layer index>.<part>.<weight|bias>`.
    pub name: String,
    /// Row-major shape: `[out, in, 3, 3]` for convolutions, `[in, out, 2, 2]` for up-convolutions,
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
        let mut layout = Layout::default();
        let mut channels = self.in_channels;
        for (index, layer) in self.layers.iter().enumerate() {
            let out = layer.out_channels().unwrap_or(channels);
            match layer {
                Layer::BatchNorm | Layer::Norm => layout.norm(index, "norm", channels),
                Layer::Conv1x1 { .. } => {
                    layout.affine(index, "conv", &[out, channels, 1, 1], channels, out);
                }
                Layer::Conv3x3 { .. } => {
                    layout.affine(index, "conv", &[out, channels, 3, 3], 9 * channels, out);
                }
                Layer::Residual(block) => {
                    for part in ["conv1", "conv2"] {
                        let shape = [channels, channels, 3, 3];
                        layout.affine(index, part, &shape, 9 * channels, channels);
                    }
                    layout.norm(index, "norm1", channels);
                    if !block.shared_norm {
                        layout.norm(index, "norm2", channels);
                    }
                }
                Layer::UpConv2 { .. } => {
                    layout.affine(index, "upconv", &[channels, out, 2, 2], channels, out);
                }
                Layer::Dense { .. } => {
                    layout.affine(index, "dense", &[out, channels], channels, out);
                }
                Layer::ReflectPad { .. }
                | Layer::Relu
                | Layer::MaxPool2
                | Layer::GlobalAveragePool
                | Layer::Sigmoid
                | Layer::Softmax => {}
            }
            channels = out;
        }
        layout.specs
    }

    /// Length of the flat vector.
    pub fn parameter_count(&self) -> usize {
        self.parameters().iter().map(ParameterSpec::len).sum()
    }
}

#[derive(Default)]
struct Layout {
    specs: Vec<ParameterSpec>,
    next_offset: usize,
}

impl Layout {
    fn push(&mut self, name: String, shape: &[usize], role: ParameterRole) {
        let spec = ParameterSpec {
            name,
            shape: shape.to_vec(),
            offset: self.next_offset,
            role,
        };
        self.next_offset += spec.len();
        self.specs.push(spec);
    }

    fn affine(&mut self, layer: usize, part: &str, shape: &[usize], fan_in: usize, out: usize) {
        let weight = ParameterRole::Weight { fan_in };
        self.push(format!("{layer}.{part}.weight"), shape, weight);
        let bias = ParameterRole::Bias { fan_in };
        self.push(format!("{layer}.{part}.bias"), &[out], bias);
    }

    fn norm(&mut self, layer: usize, part: &str, channels: usize) {
        let name = |value| format!("{layer}.{part}.{value}");
        self.push(name("weight"), &[channels], ParameterRole::NormScale);
        self.push(name("bias"), &[channels], ParameterRole::NormShift);
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
