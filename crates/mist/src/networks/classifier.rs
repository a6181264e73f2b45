//! The classifier task network T for patches (paper, appendix C.1).

use mist_kernels::network::{Layer, Network, NetworkError};

use super::EncoderConfig;

/// The encoder followed by a dense layer with one logit per class.
///
/// # Shapes
/// - input: `[patches, in_channels, side, side]` with `2^levels <= side < 2 * 2^levels`, as the dense layer reads one
///   pixel
/// - output: `[patches, classes, 1, 1]`, logits
///
/// # Errors
/// When a number of channels or classes is zero or a setting is above its limit.
pub fn classifier(encoder: &EncoderConfig, classes: usize) -> Result<Network, NetworkError> {
    encoder.check()?;
    NetworkError::at_most("`classes`", classes, Network::MAX_CHANNELS)?;
    let mut layers = encoder.layers();
    layers.push(Layer::Dense {
        out_features: classes,
    });
    Network::new(encoder.in_channels, layers)
}

#[cfg(test)]
mod tests {
    use mist_kernels::network::Shape;

    use super::*;

    #[test]
    fn parameter_counts_are_exact() {
        let count = |encoder| classifier(&encoder, 10).unwrap().parameter_count();
        assert_eq!(count(EncoderConfig::official()), 2_096_698);
        assert_eq!(count(EncoderConfig::paper(3)), 2_099_450);
    }

    #[test]
    fn a_patch_becomes_one_row_of_logits() {
        let network = classifier(&EncoderConfig::official(), 10).unwrap();
        for side in [32, 40, 63] {
            let output = network.output_shape(Shape::new(3, side, side));
            assert_eq!(output, Ok(Shape::new(10, 1, 1)));
        }
        for side in [31, 64] {
            assert!(network.output_shape(Shape::new(3, side, side)).is_err());
        }
    }
}
