//! Images as the networks see them, and image files.

mod contrast;
mod formats;
mod jpeg;
mod limits;
mod png;
mod read;
mod samples;
mod tiff;
mod write_jpeg;

pub use formats::has_image_extension;
pub use limits::DecodeLimits;
pub use png::{encode_png, write_png};
pub(crate) use read::decode as decode_image;
pub use read::read_image;
pub(crate) use write_jpeg::encode_jpeg;

/// A planar image: channel, then row, then column, with values in `[0, 1]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// Columns.
    pub width_px: usize,
    /// Rows.
    pub height_px: usize,
    /// Planes: 1 is gray, 3 is red, green, blue.
    pub channels: usize,
    /// `channels * height_px * width_px` values.
    pub pixels: Vec<f32>,
}

/// Width and height of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ImageSize {
    /// Columns.
    pub width_px: usize,
    /// Rows.
    pub height_px: usize,
}

impl Image {
    /// Width and height.
    pub fn size(&self) -> ImageSize {
        ImageSize {
            width_px: self.width_px,
            height_px: self.height_px,
        }
    }

    /// An image with the same value everywhere.
    pub fn filled(width_px: usize, height_px: usize, channels: usize, value: f32) -> Self {
        Self {
            width_px,
            height_px,
            channels,
            pixels: vec![value; width_px * height_px * channels],
        }
    }

    /// Whether there are as many values as width, height and channels say.
    pub(crate) fn is_complete(&self) -> bool {
        let area = self.width_px.checked_mul(self.height_px);
        area.and_then(|area| area.checked_mul(self.channels)) == Some(self.pixels.len())
    }

    /// Where the pixel in column `x_px` and row `y_px` of a channel stands in `pixels`.
    pub fn offset(&self, x_px: usize, y_px: usize, channel: usize) -> usize {
        (channel * self.height_px + y_px) * self.width_px + x_px
    }

    /// Rounds to 8 bits, channels interleaved as image files have them.
    pub fn to_interleaved_bytes(&self) -> Vec<u8> {
        let plane = self.width_px * self.height_px;
        let mut bytes = Vec::with_capacity(self.pixels.len());
        for pixel in 0..plane {
            for channel in 0..self.channels {
                bytes.push(to_byte(self.pixels[channel * plane + pixel]));
            }
        }
        bytes
    }
}

/// Float-to-integer casts saturate, which is the clipping that values outside `[0, 1]` need.
fn to_byte(value: f32) -> u8 {
    (value * 255.0).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_rounded_clipped_and_interleaved() {
        let image = Image {
            width_px: 2,
            height_px: 1,
            channels: 2,
            pixels: vec![0.0, 1.0, 0.5, 7.0],
        };
        assert_eq!(image.to_interleaved_bytes(), [0, 128, 255, 255]);
    }
}
