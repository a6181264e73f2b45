//! PNG files with 8 bits per channel.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use png::{BitDepth, ColorType, Decoder, Encoder, Limits, Transformations};

use crate::error::{AtPath, RequestError, Result, bad_input};
use crate::image::Image;
use crate::staging;

/// A budget for images far larger than any we handle, so that a hostile header cannot exhaust memory.
const MAX_DECODED_BYTES: usize = 256 << 20;

/// Writes an image of one (gray) or three channels; the file is whole or absent.
pub fn write_png(path: &Path, image: &Image) -> Result<()> {
    staging::write_file(path, &encode(image)?)
}

/// Reads a gray or colour image; palettes and other depths become 8 bits.
pub fn read_png(path: &Path) -> Result<Image> {
    let file = File::open(path).at("open", path)?;
    decode(BufReader::new(file)).map_err(|reason| bad_input(path, reason))
}

pub(crate) fn encode(image: &Image) -> Result<Vec<u8>> {
    let colour = match image.channels {
        1 => ColorType::Grayscale,
        3 => ColorType::Rgb,
        other => {
            return Err(out_of_range(
                "channels of a PNG",
                other.to_string(),
                "1 or 3",
            ));
        }
    };
    let bytes = image.to_interleaved_bytes();
    let mut out = Vec::new();
    let sides = u32::try_from(image.width_px)
        .ok()
        .zip(u32::try_from(image.height_px).ok());
    let written = sides.and_then(|(width, height)| {
        let mut encoder = Encoder::new(&mut out, width, height);
        encoder.set_color(colour);
        encoder.set_depth(BitDepth::Eight);
        let mut writer = encoder.write_header().ok()?;
        writer.write_image_data(&bytes).ok()?;
        writer.finish().ok()
    });
    // Writing to memory fails for one reason only: the image has no pixels, or too many of them.
    match written {
        Some(()) => Ok(out),
        None => {
            let size = format!("{} x {} px", image.width_px, image.height_px);
            Err(out_of_range(
                "size of a PNG",
                size,
                "from 1 to 2^31 px a side",
            ))
        }
    }
}

fn out_of_range(name: &'static str, value: String, expected: &'static str) -> crate::Error {
    RequestError::OutOfRange {
        name,
        value,
        expected,
    }
    .into()
}

fn decode(source: BufReader<File>) -> Result<Image, String> {
    let limits = Limits {
        bytes: MAX_DECODED_BYTES,
    };
    let mut decoder = Decoder::new_with_limits(source, limits);
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let channels = match reader.output_color_type().0 {
        ColorType::Grayscale => 1,
        ColorType::Rgb => 3,
        other => return Err(format!("is of type {other:?}; only gray and RGB are read")),
    };
    let size = reader
        .output_buffer_size()
        .filter(|&size| size <= MAX_DECODED_BYTES)
        .ok_or("is too large")?;
    let mut bytes = vec![0; size];
    let info = reader
        .next_frame(&mut bytes)
        .map_err(|error| error.to_string())?;
    let plane = info.width as usize * info.height as usize;
    let mut pixels = vec![0.0; plane * channels];
    for (pixel, values) in bytes.chunks_exact(channels).take(plane).enumerate() {
        for (channel, &value) in values.iter().enumerate() {
            pixels[channel * plane + pixel] = f32::from(value) / 255.0;
        }
    }
    Ok(Image {
        width_px: info.width as usize,
        height_px: info.height as usize,
        channels,
        pixels,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn gray_and_colour_round_trip() {
        let directory = tempfile::tempdir().unwrap();
        for channels in [1, 3] {
            let path = directory.path().join(format!("{channels}.png"));
            let mut image = Image::filled(7, 5, channels, 0.0);
            for (place, value) in image.pixels.iter_mut().enumerate() {
                *value = (place % 256) as f32 / 255.0;
            }
            write_png(&path, &image).unwrap();
            assert_eq!(read_png(&path).unwrap(), image);
        }
        assert_eq!(
            fs::read_dir(directory.path()).unwrap().count(),
            2,
            "nothing else is left"
        );
    }

    #[test]
    fn impossible_images_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.png");
        for image in [Image::filled(4, 4, 2, 0.0), Image::filled(0, 4, 1, 0.0)] {
            assert!(matches!(
                write_png(&path, &image),
                Err(crate::Error::Request(_))
            ));
        }
        assert!(!path.exists());
    }

    #[test]
    fn damaged_files_are_input_errors() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("in.png");
        let whole = encode(&Image::filled(64, 64, 1, 0.3)).unwrap();
        let mut huge = whole.clone();
        huge[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
        for bytes in [&whole[..whole.len() / 2], b"GIF89a", &huge] {
            fs::write(&path, bytes).unwrap();
            assert!(matches!(read_png(&path), Err(crate::Error::Input(_))));
        }
    }
}
