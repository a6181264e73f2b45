//! A network of regions, after region proposal networks: a score and an offset for each place of a coarse grid.

use mist_kernels::network::{Layer, Network, NetworkError};

use super::EncoderConfig;

/// The encoder and three outputs for each cell of `2^levels` px: response, x-offset, y-offset.
///
/// # Shapes
/// - input: `[batch, in_channels, height, width]`, both sides at least `2^levels`
/// - output: `[batch, 3, height / 2^levels, width / 2^levels]`
///
/// # Errors
/// When a number of channels is zero or a setting is above its limit.
pub fn regions(encoder: &EncoderConfig) -> Result<Network, NetworkError> {
    encoder.check()?;
    let mut layers = encoder.layers();
    let head = Layer::Conv1x1 { out_channels: 3 };
    layers.extend(encoder.style.between_blocks(head));
    Network::new(encoder.in_channels, layers)
}

#[cfg(test)]
mod tests {
    use mist_kernels::network::Shape;

    use super::*;

    #[test]
    fn an_image_becomes_a_coarse_grid() {
        let encoder = EncoderConfig {
            levels: 3,
            ..EncoderConfig::paper(1)
        };
        let shape = regions(&encoder)
            .unwrap()
            .output_shape(Shape::new(1, 80, 96));
        assert_eq!(shape, Ok(Shape::new(3, 10, 12)));
    }
}
