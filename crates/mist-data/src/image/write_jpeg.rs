//! JPEG files.

use ::image::ExtendedColorType;
use ::image::codecs::jpeg::JpegEncoder;

use super::Image;
use crate::error::{RequestError, Result};

/// Close to what cameras write.
const QUALITY: u8 = 95;

/// The bytes of a JPEG file of an image of one (gray) or three channels.
pub(crate) fn encode_jpeg(image: &Image) -> Result<Vec<u8>> {
    let colour = match image.channels {
        1 => ExtendedColorType::L8,
        _ => ExtendedColorType::Rgb8,
    };
    let mut bytes = Vec::new();
    let sides = u32::try_from(image.width_px)
        .ok()
        .zip(u32::try_from(image.height_px).ok());
    let written = sides
        .filter(|_| image.is_complete())
        .and_then(|(width, height)| {
            JpegEncoder::new_with_quality(&mut bytes, QUALITY)
                .encode(&image.to_interleaved_bytes(), width, height, colour)
                .ok()
        });
    match written {
        Some(()) => Ok(bytes),
        None => Err(RequestError::OutOfRange {
            name: "size of a JPEG",
            value: format!("{} x {} px", image.width_px, image.height_px),
            expected: "from 1 to 65535 px a side",
        }
        .into()),
    }
}
