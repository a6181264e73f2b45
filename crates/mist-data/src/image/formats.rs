//! The image formats that are read.

use std::path::Path;

use ::image::ImageFormat;

struct ReadableFormat {
    format: ImageFormat,
    name: &'static str,
    extensions: &'static [&'static str],
}

const READABLE: [ReadableFormat; 6] = [
    ReadableFormat {
        format: ImageFormat::Png,
        name: "PNG",
        extensions: &["png"],
    },
    ReadableFormat {
        format: ImageFormat::Jpeg,
        name: "JPEG",
        extensions: &["jpg", "jpeg", "jpe", "jfif"],
    },
    ReadableFormat {
        format: ImageFormat::Tiff,
        name: "TIFF",
        extensions: &["tif", "tiff"],
    },
    ReadableFormat {
        format: ImageFormat::WebP,
        name: "WebP",
        extensions: &["webp"],
    },
    ReadableFormat {
        format: ImageFormat::Bmp,
        name: "BMP",
        extensions: &["bmp"],
    },
    ReadableFormat {
        format: ImageFormat::Pnm,
        name: "PNM",
        extensions: &["pnm", "pbm", "pgm", "ppm", "pam"],
    },
];

/// Whether a file is called like an image that can be read; says nothing about what is in it.
pub fn has_image_extension(path: &Path) -> bool {
    path.extension().is_some_and(|extension| {
        READABLE
            .iter()
            .flat_map(|readable| readable.extensions)
            .any(|known| extension.eq_ignore_ascii_case(known))
    })
}

/// The format of a file by its first bytes; says which are read if it is none of them.
pub(super) fn detect(bytes: &[u8]) -> Result<ImageFormat, String> {
    let names = READABLE.map(|readable| readable.name).join(", ");
    match ::image::guess_format(bytes) {
        Ok(format) if READABLE.iter().any(|readable| readable.format == format) => Ok(format),
        Ok(other) => Err(format!("is a {other:?} file; only {names} are read")),
        Err(_) => Err(format!("is not an image; {names} are read")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_count_in_any_case() {
        for name in ["a.png", "b.JPG", "c.v2.Tiff", "d/e.webp"] {
            assert!(has_image_extension(Path::new(name)), "{name}");
        }
        for name in ["a.txt", "png", ".png", "a.png.zip", "a."] {
            assert!(!has_image_extension(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn other_formats_are_named() {
        let reason = detect(b"GIF89a and more").unwrap_err();
        assert!(
            reason.contains("Gif") && reason.contains("JPEG"),
            "{reason}"
        );
        assert!(detect(b"<html>").unwrap_err().contains("not an image"));
    }
}
