//! The auto-encoder task network T for patches (paper, appendix C.1).

use mist_kernels::network::{Layer, Network, NetworkError};
use serde::{Deserialize, Serialize};

use super::EncoderConfig;

/// Range of a reconstructed patch's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchValues {
    /// `0..1`, by a sigmoid: objects brighter than their background (appendix C.1).
    #[default]
    Unit,
    /// Any: objects that are brighter or darker than their background.
    Signed,
}

/// The encoder and a decoder that mirrors it with 2x2 transposed convolutions; ends with a sigmoid for
/// [`PatchValues::Unit`].
///
/// # Shapes
/// - input: `[patches, in_channels, side, side]` with a `side` that `2^levels` divides
/// - output: the same; any other side is rounded down to a multiple of `2^levels`
///
/// # Errors
/// When a number of channels is zero or a setting is above its limit.
pub fn autoencoder(encoder: &EncoderConfig, values: PatchValues) -> Result<Network, NetworkError> {
    encoder.check()?;
    let mut layers = encoder.layers();
    for &out_channels in encoder.level_channels().iter().rev() {
        let up = Layer::UpConv2 { out_channels };
        layers.extend(encoder.style.between_blocks(up));
        layers.extend(encoder.blocks());
    }
    let to_colours = Layer::Conv1x1 {
        out_channels: encoder.in_channels,
    };
    layers.extend(encoder.style.between_blocks(to_colours));
    if values == PatchValues::Unit {
        layers.push(Layer::Sigmoid);
    }
    Network::new(encoder.in_channels, layers)
}

#[cfg(test)]
mod tests {
    use mist_kernels::network::Shape;

    use super::*;

    #[test]
    fn parameter_counts_are_exact() {
        let count = |encoder| {
            autoencoder(&encoder, PatchValues::Unit)
                .unwrap()
                .parameter_count()
        };
        assert_eq!(count(EncoderConfig::paper(1)), 3_391_169);
    }

    #[test]
    fn a_patch_keeps_its_shape_and_passes_one_pixel() {
        let network = autoencoder(&EncoderConfig::paper(1), PatchValues::Signed).unwrap();
        let shapes = network.shapes(Shape::new(1, 32, 32)).unwrap();
        assert_eq!(shapes.last(), Some(&Shape::new(1, 32, 32)));
        assert!(shapes.contains(&Shape::new(128, 1, 1)));
        for (side, reconstructed) in [(96, 96), (40, 32)] {
            let output = network.output_shape(Shape::new(1, side, side));
            assert_eq!(output, Ok(Shape::new(1, reconstructed, reconstructed)));
        }
        assert!(network.output_shape(Shape::new(1, 31, 31)).is_err());
    }
}
