//! Descriptions of networks: layers, shapes and the layout of their parameters.

mod backbone;
mod error;
mod layer;
mod limits;
mod parameters;
mod shape;

pub use backbone::{Activation, BasicBlock, InvertedResidual, StridedConv};
pub use error::NetworkError;
pub use layer::{Layer, NormPlacement, Padding, ResidualBlock};
pub use parameters::{ParameterRole, ParameterSpec};
pub use shape::Shape;

use serde::{Deserialize, Serialize};

/// A network: the channels it reads and the layers it applies in turn.
///
/// Every value has passed the checks of [`Network::new`], deserialised ones too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Description")]
pub struct Network {
    in_channels: usize,
    layers: Vec<Layer>,
    #[serde(skip_serializing)]
    parameter_count: usize,
}

/// A network before its checks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    in_channels: usize,
    layers: Vec<Layer>,
}

impl TryFrom<Description> for Network {
    type Error = NetworkError;

    fn try_from(description: Description) -> Result<Self, NetworkError> {
        Self::new(description.in_channels, description.layers)
    }
}

impl Network {
    /// A network that reads `in_channels` channels.
    ///
    /// # Errors
    /// When a layer has no channels, a batch norm follows a layer other than padding, or a size is above its limit,
    /// such as [`Network::MAX_LAYERS`] or [`Network::MAX_PARAMETERS`].
    pub fn new(in_channels: usize, layers: Vec<Layer>) -> Result<Self, NetworkError> {
        Self::check_layers(in_channels, &layers)?;
        Ok(Self {
            in_channels,
            parameter_count: Self::count_parameters(in_channels, &layers)?,
            layers,
        })
    }

    /// Channels of the input.
    pub fn in_channels(&self) -> usize {
        self.in_channels
    }

    /// The layers, first to last.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Channels of the output.
    pub fn out_channels(&self) -> usize {
        self.layers
            .iter()
            .rev()
            .find_map(Layer::out_channels)
            .unwrap_or(self.in_channels)
    }

    /// Whether the input passes a batch norm, which has running statistics.
    pub fn normalises_input(&self) -> bool {
        self.layers.contains(&Layer::BatchNorm)
    }

    /// Whether it has layers without a backward pass, as frozen backbones do.
    pub fn is_forward_only(&self) -> bool {
        self.layers.iter().any(Layer::is_forward_only)
    }

    /// The shape of one sample before each layer, and that of the output last.
    ///
    /// # Errors
    /// When the input is empty or has other channels than declared, when a layer's input is too small for it, or when a
    /// map is larger than [`Network::MAX_SIDE_PX`] or [`Network::MAX_SAMPLE_VALUES`].
    pub fn shapes(&self, input: Shape) -> Result<Vec<Shape>, NetworkError> {
        if input.channels != self.in_channels {
            return Err(NetworkError::InputChannels {
                expected: self.in_channels,
                actual: input.channels,
            });
        }
        if input.is_empty() {
            return Err(NetworkError::EmptyInput { input });
        }
        input.check_size("the input")?;
        let mut shapes = vec![input];
        let mut shape = input;
        let mut kept = Vec::new();
        for (index, layer) in self.layers.iter().enumerate() {
            shape = layer
                .output_shape(shape)
                .ok_or(NetworkError::InputTooSmall {
                    layer: index,
                    description: layer.to_string(),
                    input: shape,
                })?;
            match layer {
                Layer::Branch => kept.push(shape),
                Layer::Join if kept.pop() != Some(shape) => {
                    return Err(NetworkError::InputTooSmall {
                        layer: index,
                        description: layer.to_string(),
                        input: shape,
                    });
                }
                _ => {}
            }
            shape.check_size(format_args!("the output of layer {index}"))?;
            shapes.push(shape);
        }
        Ok(shapes)
    }

    /// Multiplications with weights for one sample, counted as direct convolution does them; at most `u64::MAX`.
    ///
    /// # Errors
    /// As [`Network::shapes`].
    pub fn multiplications(&self, input: Shape) -> Result<u64, NetworkError> {
        let shapes = self.shapes(input)?;
        let pairs = self.layers.iter().zip(shapes.windows(2));
        Ok(pairs
            .map(|(layer, pair)| layer.multiplications(pair[0], pair[1]))
            .fold(0, u64::saturating_add))
    }

    /// The shape of one sample of the output.
    ///
    /// # Errors
    /// As [`Network::shapes`].
    pub fn output_shape(&self, input: Shape) -> Result<Shape, NetworkError> {
        Ok(self.shapes(input)?.last().copied().unwrap_or(input))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classifier_like() -> Network {
        Network::new(
            3,
            vec![
                Layer::Conv1x1 { out_channels: 8 },
                Layer::Residual(ResidualBlock {
                    padding: Padding::Same,
                    norm: NormPlacement::After,
                    shared_norm: true,
                }),
                Layer::MaxPool2,
                Layer::UpConv2 { out_channels: 4 },
                Layer::GlobalAveragePool,
                Layer::Dense { out_features: 10 },
            ],
        )
        .unwrap()
    }

    #[test]
    fn shapes_follow_the_layers() {
        let shapes = classifier_like().shapes(Shape::new(3, 9, 6)).unwrap();
        let expected = [
            Shape::new(3, 9, 6),
            Shape::new(8, 9, 6),
            Shape::new(8, 9, 6),
            Shape::new(8, 4, 3),
            Shape::new(4, 8, 6),
            Shape::new(4, 1, 1),
            Shape::new(10, 1, 1),
        ];
        assert_eq!(shapes, expected);
    }

    #[test]
    fn joined_maps_have_one_shape() {
        let layers = vec![
            Layer::Branch,
            Layer::MaxPool2,
            Layer::UpConv2 { out_channels: 2 },
            Layer::Join,
        ];
        let network = Network::new(2, layers).unwrap();
        assert!(network.shapes(Shape::new(2, 6, 8)).is_ok());
        let error = network.shapes(Shape::new(2, 6, 7)).unwrap_err();
        assert!(error.to_string().contains("join"), "{error}");
    }

    #[test]
    fn multiplications_are_counted_at_the_output() {
        let network = classifier_like();
        let count = network.multiplications(Shape::new(3, 9, 6)).unwrap();
        let (conv, residual) = (9 * 6 * 3 * 8, 2 * 9 * 6 * 8 * 8 * 9);
        let (up, dense) = (8 * 6 * 8 * 4, 4 * 10);
        assert_eq!(count, conv + residual + up + dense);
    }

    #[test]
    fn a_wrong_or_too_small_input_is_named() {
        let network = classifier_like();
        assert_eq!(
            network.shapes(Shape::new(1, 8, 8)),
            Err(NetworkError::InputChannels {
                expected: 3,
                actual: 1
            })
        );
        let error = network.shapes(Shape::new(3, 1, 8)).unwrap_err();
        assert!(error.to_string().contains("max-pool 2x2"), "{error}");
    }

    #[test]
    fn impossible_networks_are_refused() {
        assert_eq!(
            Network::new(0, vec![]),
            Err(NetworkError::NoChannels { layer: 0 })
        );
        let dead = vec![Layer::Relu, Layer::Conv1x1 { out_channels: 0 }];
        assert_eq!(
            Network::new(1, dead),
            Err(NetworkError::NoChannels { layer: 1 })
        );
        for (unpaired, layer) in [
            (vec![Layer::Relu, Layer::Join], 1),
            (vec![Layer::Branch, Layer::Branch, Layer::Join], 0),
        ] {
            let error = Err(NetworkError::Unpaired { layer });
            assert_eq!(Network::new(1, unpaired), error);
        }
        let late = vec![Layer::Relu, Layer::BatchNorm];
        assert_eq!(
            Network::new(1, late),
            Err(NetworkError::BatchNormInside { layer: 1 })
        );
    }

    #[test]
    fn a_description_survives_json() {
        let network = classifier_like();
        let text = serde_json::to_string(&network).unwrap();
        assert_eq!(serde_json::from_str::<Network>(&text).unwrap(), network);
        let without_channels = text.replace("\"in_channels\":3", "\"in_channels\":0");
        let error = serde_json::from_str::<Network>(&without_channels).unwrap_err();
        assert!(error.to_string().contains("no channels"), "{error}");
    }
}
