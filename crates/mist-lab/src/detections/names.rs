//! Paths as text.

use std::path::Path;

/// A path as text, different for different paths.
///
/// Paths in UTF-8 stay as they are. A byte that is not UTF-8 becomes U+FFFD and its two hexadecimal
/// digits, and so do the bytes of a U+FFFD that a path really contains.
pub fn path_text(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\u{FFFD}' => text.push_str("\u{FFFD}EF\u{FFFD}BF\u{FFFD}BD"),
                other => text.push(other),
            }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\u{FFFD}{byte:02X}"));
        }
    }
    text
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn different_names_stay_different() {
        let names: [&[u8]; 5] = [
            b"caf\xE9.png",
            b"caf\xE8.png",
            "caf\u{FFFD}.png".as_bytes(),
            "caf\u{FFFD}E9.png".as_bytes(),
            "café.png".as_bytes(),
        ];
        let texts = names.map(|name| path_text(Path::new(OsStr::from_bytes(name))));
        assert_eq!(texts[0], "caf\u{FFFD}E9.png");
        assert_eq!(texts[4], "café.png");
        for (index, text) in texts.iter().enumerate() {
            assert!(!texts[..index].contains(text), "{text}");
        }
    }
}
