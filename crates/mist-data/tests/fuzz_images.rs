//! Whatever bytes a file has: an image or an error, within the limits, never a panic.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Cursor;

use image::{DynamicImage, ImageFormat};
use mist_data::{DecodeLimits, Error, read_image};
use proptest::prelude::*;

const FORMATS: [ImageFormat; 6] = [
    ImageFormat::Png,
    ImageFormat::Jpeg,
    ImageFormat::Tiff,
    ImageFormat::WebP,
    ImageFormat::Bmp,
    ImageFormat::Pnm,
];

/// What is done to a file.
#[derive(Debug, Clone)]
enum Change {
    Set(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    End(prop::sample::Index),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        if length == 0 {
            return;
        }
        match self {
            Self::Set(place, value) => bytes[place.index(length)] = *value,
            Self::Insert(place, more) => {
                let place = place.index(length);
                bytes.splice(place..place, more.iter().copied());
            }
            Self::Remove(place, count) => {
                let place = place.index(length);
                bytes.drain(place..(place + count).min(length));
            }
            Self::End(place) => bytes.truncate(place.index(length)),
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let place = any::<prop::sample::Index>;
    prop_oneof![
        6 => (place(), any::<u8>()).prop_map(|(place, value)| Change::Set(place, value)),
        2 => (place(), prop::collection::vec(any::<u8>(), 1..9))
            .prop_map(|(place, more)| Change::Insert(place, more)),
        2 => (place(), 1_usize..64).prop_map(|(place, count)| Change::Remove(place, count)),
        1 => place().prop_map(Change::End),
    ]
}

fn picture(format: ImageFormat, width: u32, height: u32) -> Vec<u8> {
    let picture = image::RgbImage::from_fn(width, height, |x, y| {
        [(x * 7) as u8, (y * 5) as u8, (x ^ y) as u8].into()
    });
    let mut bytes = Cursor::new(Vec::new());
    let picture = DynamicImage::ImageRgb8(picture);
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    fs::write(&path, bytes).unwrap();
    let limits = DecodeLimits {
        max_side_px: 4096,
        max_bytes: 1 << 20,
    };
    match read_image(&path, limits) {
        Ok(image) => {
            prop_assert!(image.pixels.iter().all(|value| (0.0..=1.0).contains(value)));
            prop_assert_eq!(
                image.pixels.len(),
                image.width_px * image.height_px * image.channels
            );
            prop_assert!(4 * image.pixels.len() <= 1 << 20);
        }
        Err(error) => prop_assert!(matches!(error, Error::Input(_)), "{}", error),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_images_are_images_or_errors(
        format in prop::sample::select(&FORMATS[..]),
        (width, height) in (1_u32..40, 1_u32..40),
        changes in prop::collection::vec(change(), 1..8),
    ) {
        let mut bytes = picture(format, width, height);
        for change in changes {
            change.apply(&mut bytes);
        }
        check(&bytes)?;
    }

    #[test]
    fn any_bytes_behind_the_first_of_a_format_are_images_or_errors(
        format in prop::sample::select(&FORMATS[..]),
        kept in 2_usize..32,
        rest in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut bytes = picture(format, 8, 8);
        bytes.truncate(kept);
        bytes.extend(rest);
        check(&bytes)?;
    }
}
