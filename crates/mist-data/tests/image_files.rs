//! Image files of every format, colour type and depth, whole and damaged.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use image::codecs::jpeg::JpegEncoder;
use image::{
    ColorType, DynamicImage, ExtendedColorType, ImageBuffer, ImageEncoder, ImageFormat, Luma,
};
use mist_data::{DecodeLimits, Error, Image, read_image, write_png};

const WIDTH: u32 = 40;
const HEIGHT: u32 = 30;

/// Reads bytes from a file of a given name.
fn read_named(bytes: &[u8], name: &str) -> Result<Image, Error> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    read_image(&path, DecodeLimits::default())
}

fn read(bytes: &[u8]) -> Image {
    read_named(bytes, "image").unwrap()
}

fn refusal(bytes: &[u8]) -> String {
    match read_named(bytes, "image.png") {
        Err(Error::Input(error)) => {
            assert!(error.path.ends_with("image.png"));
            error.reason
        }
        other => panic!("{other:?}"),
    }
}

/// A picture that differs in every pixel and channel, opaque.
fn picture(colour: ColorType) -> DynamicImage {
    let mut picture = DynamicImage::new(WIDTH, HEIGHT, colour);
    let value = |x: u32, y: u32, channel: u32| (x * 5 + y * 2 + channel * 20) as u8;
    let deep = |x, y, channel| u16::from(value(x, y, channel)) * 16 + (x % 16) as u16;
    let float = |x, y, channel| f32::from(deep(x, y, channel)) * 0.01 - 3.0;
    macro_rules! fill {
        ($image:expr, $value:expr, $opaque:expr) => {
            for (x, y, pixel) in $image.enumerate_pixels_mut() {
                let channels = pixel.0.len();
                let has_alpha = channels % 2 == 0;
                for (channel, sample) in pixel.0.iter_mut().enumerate() {
                    *sample = match has_alpha && channel == channels - 1 {
                        true => $opaque,
                        false => $value(x, y, channel as u32),
                    };
                }
            }
        };
    }
    match &mut picture {
        DynamicImage::ImageLuma8(image) => fill!(image, value, 255),
        DynamicImage::ImageLumaA8(image) => fill!(image, value, 255),
        DynamicImage::ImageRgb8(image) => fill!(image, value, 255),
        DynamicImage::ImageRgba8(image) => fill!(image, value, 255),
        DynamicImage::ImageLuma16(image) => fill!(image, deep, 65_535),
        DynamicImage::ImageLumaA16(image) => fill!(image, deep, 65_535),
        DynamicImage::ImageRgb16(image) => fill!(image, deep, 65_535),
        DynamicImage::ImageRgba16(image) => fill!(image, deep, 65_535),
        DynamicImage::ImageRgb32F(image) => fill!(image, float, 1.0),
        DynamicImage::ImageRgba32F(image) => fill!(image, float, 1.0),
        other => panic!("{other:?}"),
    }
    picture
}

fn encode(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// Every format with each colour type that its encoder writes.
fn corpus() -> Vec<(ImageFormat, ColorType)> {
    use ColorType::{L8, L16, La8, La16, Rgb8, Rgb16, Rgb32F, Rgba8, Rgba16, Rgba32F};
    let written: [(ImageFormat, &[ColorType]); 6] = [
        (
            ImageFormat::Png,
            &[L8, La8, Rgb8, Rgba8, L16, La16, Rgb16, Rgba16],
        ),
        (ImageFormat::Jpeg, &[L8, Rgb8]),
        (
            ImageFormat::Tiff,
            &[L8, Rgb8, Rgba8, L16, Rgb16, Rgba16, Rgb32F, Rgba32F],
        ),
        (ImageFormat::WebP, &[Rgb8, Rgba8]),
        (ImageFormat::Bmp, &[L8, Rgb8, Rgba8]),
        (ImageFormat::Pnm, &[L8, Rgb8]),
    ];
    let pairs = written
        .iter()
        .flat_map(|(format, colours)| colours.iter().map(|&colour| (*format, colour)));
    pairs.collect()
}

fn is_eight_bit(colour: ColorType) -> bool {
    colour.bytes_per_pixel() == colour.channel_count()
}

#[test]
fn every_format_colour_and_depth_reads() {
    for (format, colour) in corpus() {
        let what = format!("{format:?} {colour:?}");
        let picture = picture(colour);
        let image = read(&encode(&picture, format));
        assert_eq!((image.width_px, image.height_px), (40, 30), "{what}");
        let stored_in_colour = colour.has_color() || format == ImageFormat::Bmp;
        let channels = if stored_in_colour { 3 } else { 1 };
        assert_eq!(image.channels, channels, "{what}");
        assert_eq!(image.pixels.len(), channels * 40 * 30, "{what}");
        if is_eight_bit(colour) && format != ImageFormat::Jpeg {
            let expected = picture.to_rgb8();
            for (x, y, pixel) in expected.enumerate_pixels() {
                for channel in 0..channels {
                    let place = image.offset(x as usize, y as usize, channel);
                    let exact = f32::from(pixel.0[channel]) / 255.0;
                    assert_eq!(image.pixels[place], exact, "{what}");
                }
            }
        } else {
            let top_left = image.pixels[0];
            let bottom_right = image.pixels[40 * 30 - 1];
            assert!(bottom_right > top_left + 0.5, "{what}");
            assert!(image.pixels.iter().all(|v| (0.0..=1.0).contains(v)));
        }
    }
}

#[test]
fn content_counts_and_not_the_name() {
    let jpeg = encode(&picture(ColorType::Rgb8), ImageFormat::Jpeg);
    assert_eq!(read_named(&jpeg, "photo.png").unwrap().channels, 3);
    assert_eq!(read_named(&jpeg, "photo").unwrap().channels, 3);
}

#[test]
fn twelve_bits_in_a_file_of_sixteen_keep_their_contrast_and_their_levels() {
    let side = 128;
    let twelve_bits = ImageBuffer::from_fn(side, side, |x, y| {
        Luma([((x + y * side) * 4095 / (side * side - 1)) as u16])
    });
    for format in [ImageFormat::Png, ImageFormat::Tiff] {
        let bytes = encode(&DynamicImage::ImageLuma16(twelve_bits.clone()), format);
        let mut values = read(&bytes).pixels;
        values.sort_by(f32::total_cmp);
        assert_eq!((values[0], *values.last().unwrap()), (0.0, 1.0));
        assert!((values[values.len() / 2] - 0.5).abs() < 0.01);
        values.dedup();
        assert!(values.len() > 4000, "{}", values.len());
    }
}

#[test]
fn a_constant_image_is_black_and_not_a_division_by_zero() {
    let constant = ImageBuffer::from_pixel(8, 8, Luma([1234_u16]));
    let bytes = encode(&DynamicImage::ImageLuma16(constant), ImageFormat::Png);
    assert_eq!(read(&bytes), Image::filled(8, 8, 1, 0.0));
}

#[test]
fn what_is_transparent_is_white() {
    let mut eight = picture(ColorType::Rgba8).into_rgba8();
    eight.put_pixel(0, 0, [9, 8, 7, 0].into());
    eight.put_pixel(1, 0, [0, 0, 0, 51].into());
    let image = read(&encode(&eight.into(), ImageFormat::Png));
    assert_eq!(image.pixels[0], 1.0);
    assert!((image.pixels[1] - 0.8).abs() < 1e-6);
    let mut sixteen = picture(ColorType::La16).into_luma_alpha16();
    // Hidden values must not count in the percentiles either.
    for x in 0..WIDTH {
        sixteen.put_pixel(x, 0, [65_535, 0].into());
    }
    let image = read(&encode(&sixteen.into(), ImageFormat::Png));
    assert!(image.pixels[..40].iter().all(|&value| value == 1.0));
    let visible = &image.pixels[40..];
    assert!(visible.iter().any(|&value| value > 0.99));
    assert!(visible.iter().any(|&value| value < 0.01));
}

#[test]
fn float_and_signed_gray_tiffs_are_read() {
    use tiff::encoder::{TiffEncoder, colortype};
    let mut float = Cursor::new(Vec::new());
    let mut values: Vec<f32> = (0..1200).map(|place| place as f32 * 0.5 - 100.0).collect();
    values[5] = f32::NAN;
    TiffEncoder::new(&mut float)
        .unwrap()
        .write_image::<colortype::Gray32Float>(WIDTH, HEIGHT, &values)
        .unwrap();
    let image = read(float.get_ref());
    assert_eq!((image.channels, image.pixels[0]), (1, 0.0));
    assert_eq!(image.pixels[5], 0.0);
    assert!((image.pixels[600] - 0.5).abs() < 0.01);
    let mut signed = Cursor::new(Vec::new());
    let values: Vec<i16> = (0..1200).map(|place| place - 600).collect();
    TiffEncoder::new(&mut signed)
        .unwrap()
        .write_image::<colortype::GrayI16>(WIDTH, HEIGHT, &values)
        .unwrap();
    assert!((read(signed.get_ref()).pixels[600] - 0.5).abs() < 0.01);
}

fn png_chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut sum = Crc::new();
    sum.update(kind);
    sum.update(data);
    let length = (data.len() as u32).to_be_bytes();
    [&length[..], kind, data, &sum.sum().to_be_bytes()].concat()
}

/// A PNG file from its header, a palette and its rows, each with its filter byte.
fn png(width: u32, height: u32, depth: u8, colour: u8, palette: &[u8], rows: &[u8]) -> Vec<u8> {
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    header.extend([depth, colour, 0, 0, 0]);
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    packed.write_all(rows).unwrap();
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    bytes.extend(png_chunk(b"IHDR", &header));
    if !palette.is_empty() {
        bytes.extend(png_chunk(b"PLTE", palette));
    }
    bytes.extend(png_chunk(b"IDAT", &packed.finish().unwrap()));
    bytes.extend(png_chunk(b"IEND", b""));
    bytes
}

#[test]
fn palettes_and_few_bits_are_expanded() {
    let indexed = read(&png(3, 1, 8, 3, &[10, 20, 30, 255, 0, 51], &[0, 1, 0, 1]));
    assert_eq!(indexed.channels, 3);
    let red = [1.0, 10.0 / 255.0, 1.0];
    assert_eq!(indexed.pixels[..3], red);
    assert_eq!(indexed.pixels[8], 0.2);
    let one_bit = read(&png(3, 1, 1, 0, &[], &[0, 0b0100_0000]));
    assert_eq!((one_bit.channels, one_bit.pixels), (1, vec![0.0, 1.0, 0.0]));
}

#[test]
fn ascii_and_deep_portable_maps_are_read() {
    assert_eq!(read(b"P2 2 1 255 0 255\n").pixels, [0.0, 1.0]);
    assert_eq!(read(b"P1 2 1 0 1\n").pixels, [1.0, 0.0]);
    let deep = [&b"P5 3 1 65535\n"[..], &[0, 0, 0, 100, 0, 200]].concat();
    assert_eq!(read(&deep).pixels, [0.0, 0.5, 1.0]);
}

#[test]
fn photos_stand_as_their_camera_was_held() {
    let mut upright = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut upright, 100);
    // A TIFF header and one entry: orientation 6, to be rotated clockwise by 90 degrees.
    let exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    encoder.set_exif_metadata(exif.to_vec()).unwrap();
    let dark_left: Vec<u8> = (0..16 * 8)
        .map(|i| if i % 16 < 8 { 0 } else { 255 })
        .collect();
    encoder
        .write_image(&dark_left, 16, 8, ExtendedColorType::L8)
        .unwrap();
    let image = read(&upright);
    assert_eq!((image.width_px, image.height_px), (8, 16));
    assert!(image.pixels[0] < 0.1 && image.pixels[8 * 15] > 0.9);
}

#[test]
fn truncated_files_are_refused_at_any_length() {
    for (format, colour) in corpus() {
        let whole = encode(&picture(colour), format);
        for fiftieths in 0..50 {
            let part = &whole[..whole.len() * fiftieths / 50];
            let reason = refusal(part);
            assert!(!reason.is_empty(), "{format:?} {colour:?} {fiftieths}");
        }
    }
    for name in ["cmyk.jpg", "progressive.jpg", "animated.webp"] {
        let whole = fixture(name);
        for fiftieths in 0..50 {
            let read = read_named(&whole[..whole.len() * fiftieths / 50], name);
            // Of an animation the first frame is enough.
            assert!(
                read.is_err() || name == "animated.webp",
                "{name} {fiftieths}"
            );
        }
    }
}

/// A file that `python/images/make.py` wrote.
fn fixture(name: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    fs::read(directory.join(name)).unwrap()
}

#[test]
fn four_inks_become_three_colours() {
    let image = read(&fixture("cmyk.jpg"));
    assert_eq!(
        (image.width_px, image.height_px, image.channels),
        (16, 8, 3)
    );
    let colour = |x_px| [0, 1, 2].map(|channel| image.pixels[image.offset(x_px, 4, channel)]);
    let is_near = |colour: [f32; 3], other: [f32; 3]| {
        colour
            .iter()
            .zip(other)
            .all(|(one, other)| (one - other).abs() < 0.1)
    };
    assert!(is_near(colour(2), [0.0, 1.0, 1.0]), "{:?}", colour(2));
    assert!(is_near(colour(13), [0.0, 0.0, 0.0]), "{:?}", colour(13));
}

#[test]
fn of_an_animation_the_first_frame_is_read() {
    let image = read(&fixture("animated.webp"));
    assert_eq!((image.width_px, image.height_px), (12, 10));
    assert!(image.pixels.iter().all(|&value| value == 1.0));
    let image = read(&fixture("progressive.jpg"));
    assert!(image.pixels[2] < 0.1 && image.pixels[21] > 0.9);
}

#[test]
fn damaged_bytes_never_panic() {
    let limits = DecodeLimits {
        max_bytes: 1 << 20,
        ..DecodeLimits::default()
    };
    for (format, colour) in corpus() {
        let whole = encode(&picture(colour), format);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("damaged");
        for place in (0..whole.len().min(200)).chain((200..whole.len()).step_by(211)) {
            let mut bytes = whole.clone();
            bytes[place] ^= if place % 2 == 0 { 0xff } else { 0x01 };
            fs::write(&path, bytes).unwrap();
            match read_image(&path, limits) {
                Ok(image) => assert!(image.pixels.iter().all(|v| (0.0..=1.0).contains(v))),
                Err(error) => assert!(matches!(error, Error::Input(_)), "{error}"),
            }
        }
    }
}

#[test]
fn other_files_are_told_what_is_read() {
    for bytes in [&b""[..], b"<html>", b"GIF89a\0\0\0\0", b"\0\0\x01\0\x01\0"] {
        let reason = refusal(bytes);
        assert!(
            reason.contains("PNG, JPEG, TIFF, WebP, BMP, PNM"),
            "{reason}"
        );
    }
}

#[test]
fn huge_headers_are_refused_before_memory_is_taken() {
    let tiff = |side: u32| {
        let mut bytes = encode(&picture(ColorType::L8), ImageFormat::Tiff);
        // Width, height and rows per strip, so that the sizes agree.
        for tag in [0x100_u16, 0x101, 0x116] {
            let entry = [tag.to_le_bytes(), 4_u16.to_le_bytes()].concat();
            let place = bytes.windows(4).position(|window| window == entry).unwrap();
            bytes[place + 8..place + 12].copy_from_slice(&side.to_le_bytes());
        }
        bytes
    };
    let bmp = |side: u32| {
        let mut bytes = encode(&picture(ColorType::Rgb8), ImageFormat::Bmp);
        bytes[18..22].copy_from_slice(&side.to_le_bytes());
        bytes[22..26].copy_from_slice(&side.to_le_bytes());
        bytes
    };
    let named = [
        png(60_000, 60_000, 8, 0, &[], &[0]),
        png(60_000, 60_000, 16, 6, &[], &[0]),
        b"P5 60000 60000 255\n".to_vec(),
        tiff(60_000),
        bmp(60_000),
    ];
    for bytes in named {
        let reason = refusal(&bytes);
        assert!(reason.contains("60000 x 60000 px"), "{reason}");
        assert!(reason.contains("the limit is 65535 px a side and 1343 MB"));
    }
    refusal(&png(i32::MAX as u32, i32::MAX as u32, 16, 6, &[], &[0]));
    refusal(&png(100_000, 1, 8, 0, &[], &[0]));
}

#[test]
fn limits_are_the_callers() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image.png");
    write_png(&path, &Image::filled(100, 50, 1, 0.5)).unwrap();
    let read = |max_side_px, max_bytes| {
        let limits = DecodeLimits {
            max_side_px,
            max_bytes,
        };
        read_image(&path, limits)
    };
    assert!(read(100, 20_000).is_ok());
    assert!(read(99, 20_000).is_err());
    assert!(read(100, 19_999).is_err());
    assert!(read(100, 20).unwrap_err().to_string().contains("a file of"));
}

#[test]
fn images_without_pixels_are_refused() {
    let empty = [
        png(0, 5, 8, 0, &[], &[]),
        png(5, 0, 8, 0, &[], &[]),
        b"P5 0 5 255\n".to_vec(),
        b"P6 5 0 255\n".to_vec(),
    ];
    for bytes in empty {
        refusal(&bytes);
    }
}

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
        assert_eq!(read_image(&path, DecodeLimits::default()).unwrap(), image);
    }
    let left = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 2, "nothing else is left");
}

#[test]
fn what_is_no_file_is_an_error_with_its_path() {
    let limits = DecodeLimits::default();
    let directory = tempfile::tempdir().unwrap();
    let reason = read_image(directory.path(), limits).unwrap_err();
    assert!(reason.to_string().contains("is not a regular file"));
    let absent = read_image(Path::new("no/such.png"), limits).unwrap_err();
    assert!(absent.to_string().contains("no/such.png"));
}
