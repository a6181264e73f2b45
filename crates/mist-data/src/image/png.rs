//! PNG files with 8 bits per channel.

use std::path::Path;

use ::image::codecs::png::{CompressionType, FilterType, PngEncoder};
use ::image::{ExtendedColorType, ImageEncoder};

use super::Image;
use crate::error::{RequestError, Result};
use crate::staging;

/// Writes an image of one (gray) or three channels; the file is whole or absent.
pub fn write_png(path: &Path, image: &Image) -> Result<()> {
    staging::write_file(path, &encode_png(image)?)
}

/// The bytes of a PNG file of an image of one (gray) or three channels.
pub fn encode_png(image: &Image) -> Result<Vec<u8>> {
    let colour = match image.channels {
        1 => ExtendedColorType::L8,
        3 => ExtendedColorType::Rgb8,
        other => return Err(out_of_range("channels of a PNG", other, "1 or 3")),
    };
    if !image.is_complete() {
        return Err(out_of_range(
            "number of values of an image",
            image.pixels.len(),
            "channels times height times width",
        ));
    }
    let mut out = Vec::new();
    let sides = u32::try_from(image.width_px)
        .ok()
        .zip(u32::try_from(image.height_px).ok());
    let written = sides.and_then(|(width, height)| {
        let quality = (CompressionType::Default, FilterType::Adaptive);
        PngEncoder::new_with_quality(&mut out, quality.0, quality.1)
            .write_image(&image.to_interleaved_bytes(), width, height, colour)
            .ok()
    });
    // Writing to memory fails for one reason only: the image has no pixels, or too many of them.
    match written {
        Some(()) => Ok(out),
        None => Err(out_of_range(
            "size of a PNG",
            format!("{} x {} px", image.width_px, image.height_px),
            "from 1 to 2^31 px a side",
        )),
    }
}

fn out_of_range(name: &'static str, value: impl ToString, expected: &'static str) -> crate::Error {
    RequestError::OutOfRange {
        name,
        value: value.to_string(),
        expected,
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn impossible_images_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.png");
        let mut short = Image::filled(4, 4, 1, 0.0);
        short.pixels.pop();
        for image in [
            Image::filled(4, 4, 2, 0.0),
            Image::filled(0, 4, 1, 0.0),
            short,
        ] {
            assert!(matches!(write_png(&path, &image), Err(Error::Request(_))));
        }
        assert!(!path.exists());
    }
}
