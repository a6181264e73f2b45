//! Image files of many formats.

use std::fs::{self, File};
use std::io::{Cursor, ErrorKind, Read};
use std::path::Path;

use ::image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};

use super::limits::DecodeLimits;
use super::samples::Decoded;
use super::{Image, formats, jpeg, tiff};
use crate::error::{AtPath, Result, bad_input};

/// Reads an image of one (gray) or three channels (red, green, blue).
///
/// - PNG, JPEG, TIFF, WebP, BMP and PNM are told apart by content, whatever the file is called. Of
///   several pages or frames the first is read.
/// - 8-bit values are divided by 255. Files of 16 bits and of floats rarely use their whole range (a
///   microscope gives 12 of 16 bits), so that their values are scaled to `[0, 1]` from the 0.1th to
///   the 99.9th percentile of the image, over all channels.
/// - Transparent parts are shown over white, as in browsers and documents: the boxes and counts that
///   come with an image were made by people who saw it so. The colours below, which dropping alpha
///   would bring out, are arbitrary.
/// - The orientation that a camera notes (EXIF) is applied, again to give what people saw.
pub fn read_image(path: &Path, limits: DecodeLimits) -> Result<Image> {
    let metadata = fs::metadata(path).at("read", path)?;
    if !metadata.is_file() {
        return Err(bad_input(path, "is not a regular file"));
    }
    limits
        .check_file(metadata.len())
        .map_err(|reason| bad_input(path, reason))?;
    let mut bytes = Vec::new();
    let file = File::open(path).at("open", path)?;
    file.take(limits.max_bytes)
        .read_to_end(&mut bytes)
        .at("read", path)?;
    decode(&bytes, limits).map_err(|reason| bad_input(path, reason))
}

/// The image of a file's bytes; see [`read_image`].
pub(crate) fn decode(bytes: &[u8], limits: DecodeLimits) -> Result<Image, String> {
    let format = formats::detect(bytes)?;
    if format == ImageFormat::Tiff
        && let Some(decoded) = tiff::decode_gray(bytes, limits)?
    {
        return Ok(decoded.into_image());
    }
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut allocations = Limits::no_limits();
    allocations.max_alloc = Some(limits.max_bytes);
    reader.limits(allocations);
    let mut decoder = reader.into_decoder().map_err(reason)?;
    let (width_px, height_px) = decoder.dimensions();
    let channels = if decoder.color_type().has_color() {
        3
    } else {
        1
    };
    limits.check(width_px, height_px, channels)?;
    if format == ImageFormat::Jpeg && !jpeg::is_whole(bytes) {
        return Err("is truncated".to_owned());
    }
    let orientation = decoder.orientation().map_err(reason)?;
    let mut decoded = DynamicImage::from_decoder(decoder).map_err(reason)?;
    decoded.apply_orientation(orientation);
    Ok(Decoded::new(decoded)?.into_image())
}

fn reason(error: ImageError) -> String {
    match error {
        ImageError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof => {
            "is truncated".to_owned()
        }
        other => format!("cannot be decoded: {other}"),
    }
}
