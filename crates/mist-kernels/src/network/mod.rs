//! Descriptions of networks: layers, shapes and the layout of their parameters.

mod error;
mod layer;
mod parameters;
mod shape;

pub use error::NetworkError;
pub use layer::{Layer, NormPlacement, Padding, ResidualBlock};
pub use parameters::{ParameterRole, ParameterSpec};
pub use shape::Shape;

use serde::{Deserialize, Serialize};

/// A network: what it reads and the layers it applies in turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Channels of the input image.
    pub in_channels: usize,
    /// Layers, first to last.
    pub layers: Vec<Layer>,
}

impl Network {
    /// A network reading `in_channels` channels.
    ///
    /// # Errors
    /// When a width is zero or a batch norm stands after a layer that has weights.
    pub fn new(in_channels: usize, layers: Vec<Layer>) -> Result<Self, NetworkError> {
        let network = Self {
            in_channels,
            layers,
        };
        network.validate()?;
        Ok(network)
    }

    /// Checks what no input size can repair; call it on a network that was deserialised.
    ///
    /// # Errors
    /// As [`Network::new`].
    pub fn validate(&self) -> Result<(), NetworkError> {
        if self.in_channels == 0 {
            return Err(NetworkError::NoChannels { layer: 0 });
        }
        let mut reads_raw_input = true;
        for (index, layer) in self.layers.iter().enumerate() {
            if layer.out_channels() == Some(0) {
                return Err(NetworkError::NoChannels { layer: index });
            }
            if *layer == Layer::BatchNorm && !reads_raw_input {
                return Err(NetworkError::BatchNormInside { layer: index });
            }
            reads_raw_input &= matches!(layer, Layer::ReflectPad { .. });
        }
        Ok(())
    }

    /// Channels of the output.
    pub fn out_channels(&self) -> usize {
        self.layers
            .iter()
            .rev()
            .find_map(Layer::out_channels)
            .unwrap_or(self.in_channels)
    }

    /// Whether the input passes a batch norm, whose statistics belong to the model's state.
    pub fn normalises_input(&self) -> bool {
        self.layers.contains(&Layer::BatchNorm)
    }

    /// The shape before each layer, and the output's shape last.
    ///
    /// # Errors
    /// When the input has other channels than declared or a layer's input is too small for it.
    pub fn shapes(&self, input: Shape) -> Result<Vec<Shape>, NetworkError> {
        if input.channels != self.in_channels {
            return Err(NetworkError::InputChannels {
                expected: self.in_channels,
                actual: input.channels,
            });
        }
        let mut shapes = vec![input];
        let mut shape = input;
        for (index, layer) in self.layers.iter().enumerate() {
            shape = layer
                .output_shape(shape)
                .ok_or(NetworkError::InputTooSmall {
                    layer: index,
                    description: layer.to_string(),
                    input: shape,
                })?;
            shapes.push(shape);
        }
        Ok(shapes)
    }

    /// Multiplications with weights for one sample, counted as direct convolution does them.
    ///
    /// # Errors
    /// As [`Network::shapes`].
    pub fn multiplications(&self, input: Shape) -> Result<u64, NetworkError> {
        let shapes = self.shapes(input)?;
        let pairs = self.layers.iter().zip(shapes.windows(2));
        Ok(pairs
            .map(|(layer, pair)| layer.multiplications(pair[0], pair[1]))
            .sum())
    }

    /// The output's shape for an input's.
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
    }
}
