//! The idx format, packed with gzip, from files that may be damaged or hostile.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::GzDecoder;
use sha2::{Digest, Sha256};

use super::files::MnistFile;
use super::{CLASSES, FRAME_PX};
use crate::error::{AtPath, Result, bad_input};

/// The largest genuine file has under 10 MB.
const MAX_PACKED_BYTES: u64 = 16 << 20;

/// What an idx file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    Frames,
    Labels,
}

impl Contents {
    /// Type (unsigned byte) and number of dimensions.
    fn magic(self) -> u32 {
        match self {
            Contents::Frames => 0x0803,
            Contents::Labels => 0x0801,
        }
    }

    pub fn header_len(self) -> usize {
        match self {
            Contents::Frames => 16,
            Contents::Labels => 8,
        }
    }

    pub fn item_len(self) -> usize {
        match self {
            Contents::Frames => FRAME_PX * FRAME_PX,
            Contents::Labels => 1,
        }
    }
}

/// Reads one packed file of a directory and returns its items, checked.
pub(crate) fn read(directory: &Path, file: &MnistFile) -> Result<Vec<u8>> {
    let path = directory.join(file.packed_name());
    let metadata = fs::metadata(&path).at("read", &path)?;
    if !metadata.is_file() {
        return Err(bad_input(&path, "is not a regular file"));
    }
    if metadata.len() > MAX_PACKED_BYTES {
        let reason = format!("has {} bytes, too many for MNIST", metadata.len());
        return Err(bad_input(&path, reason));
    }
    let mut packed = Vec::new();
    let source = File::open(&path).at("open", &path)?;
    source
        .take(MAX_PACKED_BYTES)
        .read_to_end(&mut packed)
        .at("read", &path)?;
    unpack(&packed, file).map_err(|reason| bad_input(&path, reason))
}

/// Unpacks a gzip file, never further than the genuine file is long.
fn unpack(packed: &[u8], file: &MnistFile) -> Result<Vec<u8>, String> {
    let mut decoder = GzDecoder::new(packed);
    let unpacked =
        read_at_most(&mut decoder, file.unpacked_len()).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => "is truncated".to_owned(),
            _ => format!("is not gzip: {error}"),
        })?;
    let items = check(unpacked, file)?;
    if !decoder.into_inner().is_empty() {
        return Err("has bytes after the end of its gzip data".to_owned());
    }
    Ok(items)
}

/// Reads one byte more than the genuine file has, to tell whether there is more.
pub(crate) fn read_at_most(source: &mut impl Read, genuine_len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source
        .take(genuine_len as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Checks an unpacked file against all that is known of it and returns its items.
///
/// The structure comes first, because "label 11" helps a reader more than a wrong sum does.
pub(crate) fn check(mut unpacked: Vec<u8>, file: &MnistFile) -> Result<Vec<u8>, String> {
    let contents = file.contents;
    if unpacked.len() < contents.header_len() {
        return Err("ends within its header".to_owned());
    }
    let magic = big_endian(&unpacked, 0);
    if magic != contents.magic() {
        return Err(format!(
            "starts with {magic:#010x} instead of {:#010x}",
            contents.magic()
        ));
    }
    let count = big_endian(&unpacked, 4);
    if count as usize != file.count {
        return Err(format!("claims {count} items instead of {}", file.count));
    }
    if contents == Contents::Frames {
        let (rows, columns) = (big_endian(&unpacked, 8), big_endian(&unpacked, 12));
        if (rows as usize, columns as usize) != (FRAME_PX, FRAME_PX) {
            return Err(format!(
                "claims frames of {columns} x {rows} px instead of 28 x 28"
            ));
        }
    }
    if unpacked.len() < file.unpacked_len() {
        return Err(format!(
            "holds {} bytes, but its header promises {}",
            unpacked.len(),
            file.unpacked_len()
        ));
    }
    if unpacked.len() > file.unpacked_len() {
        return Err("holds more than its header promises".to_owned());
    }
    if contents == Contents::Labels {
        let labels = &unpacked[contents.header_len()..];
        if let Some(label) = labels.iter().find(|&&label| usize::from(label) >= CLASSES) {
            return Err(format!("holds the label {label}"));
        }
    }
    let sum = sha256_hex(&unpacked);
    if sum != file.sha256 {
        return Err(format!(
            "holds data with SHA-256 {sum} instead of {}",
            file.sha256
        ));
    }
    unpacked.drain(..contents.header_len());
    Ok(unpacked)
}

fn big_endian(bytes: &[u8], start: usize) -> u32 {
    bytes[start..start + 4]
        .iter()
        .fold(0, |value, &byte| value << 8 | u32::from(byte))
}

fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const LABELS: MnistFile = MnistFile {
        name: "labels",
        contents: Contents::Labels,
        count: 3,
        sha256: "that of no data",
    };

    fn frames() -> MnistFile {
        MnistFile {
            name: "frames",
            contents: Contents::Frames,
            count: 1,
            sha256: "",
        }
    }

    fn labels(magic: u32, count: u32, items: &[u8]) -> Vec<u8> {
        [&magic.to_be_bytes()[..], &count.to_be_bytes(), items].concat()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_right_file_is_read() {
        let right = labels(0x0801, 3, &[1, 2, 9]);
        let file = MnistFile {
            sha256: Box::leak(sha256_hex(&right).into_boxed_str()),
            ..LABELS
        };
        assert_eq!(unpack(&gzip(&right), &file), Ok(vec![1, 2, 9]));
        let trailing = [gzip(&right), b"more".to_vec()].concat();
        assert!(
            unpack(&trailing, &file)
                .unwrap_err()
                .contains("after the end")
        );
    }

    #[test]
    fn every_corruption_is_named() {
        let right = gzip(&labels(0x0801, 3, &[1, 2, 9]));
        let corpus: [(&str, Vec<u8>, &str); 10] = [
            ("empty", vec![], "truncated"),
            ("not gzip", b"<html>not found</html>".to_vec(), "not gzip"),
            (
                "truncated gzip",
                right[..right.len() - 9].to_vec(),
                "truncated",
            ),
            ("short header", gzip(&[0, 0, 8]), "within its header"),
            ("magic", gzip(&labels(0x0803, 3, &[1, 2, 9])), "0x00000803"),
            (
                "lying count",
                gzip(&labels(0x0801, u32::MAX, &[1, 2, 9])),
                "claims 4294967295",
            ),
            (
                "too few",
                gzip(&labels(0x0801, 3, &[1, 2])),
                "holds 10 bytes",
            ),
            (
                "too many",
                gzip(&labels(0x0801, 3, &[1, 2, 3, 4])),
                "more than",
            ),
            (
                "label 11",
                gzip(&labels(0x0801, 3, &[1, 11, 3])),
                "label 11",
            ),
            ("sum", gzip(&labels(0x0801, 3, &[1, 2, 8])), "SHA-256"),
        ];
        for (name, bytes, expected) in corpus {
            let reason = unpack(&bytes, &LABELS).unwrap_err();
            assert!(reason.contains(expected), "{name}: {reason}");
        }
    }

    #[test]
    fn frames_of_another_size_are_refused() {
        let mut bytes = vec![0; 16 + FRAME_PX * FRAME_PX];
        bytes[..16].copy_from_slice(&[0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 32, 0, 0, 0, 28]);
        assert!(check(bytes, &frames()).unwrap_err().contains("28 x 32 px"));
    }

    #[test]
    fn a_bomb_is_unpacked_no_further_than_the_genuine_file() {
        let bomb = gzip(&labels(0x0801, 3, &vec![0; 64 << 20]));
        let mut unread = &bomb[..];
        let mut decoder = GzDecoder::new(&mut unread);
        read_at_most(&mut decoder, LABELS.unpacked_len()).unwrap();
        assert!(unread.len() > bomb.len() / 2);
        assert!(unpack(&bomb, &LABELS).unwrap_err().contains("more than"));
    }
}
