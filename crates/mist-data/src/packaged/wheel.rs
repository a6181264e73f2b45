//! Single files out of a wheel, which is a zip file.
//!
//! Pinned sums say whether what comes out is right; here it must only never panic, and never take more memory than the file
//! that is looked for.

use std::io::Read;

use flate2::read::DeflateDecoder;

/// Signature and length of the record at the end of a zip file, which may be followed by a comment.
const END: (&[u8], usize) = (b"PK\x05\x06", 22);
/// Signature and length of an entry of the central directory, before its name.
const ENTRY: (&[u8], usize) = (b"PK\x01\x02", 46);
/// Signature and length of the header before a file's bytes, before its name.
const LOCAL: (&[u8], usize) = (b"PK\x03\x04", 30);
const MAX_COMMENT: usize = 0xffff;

/// The bytes of a member that has so many of them.
pub(super) fn member(wheel: &[u8], name: &str, bytes: usize) -> Result<Vec<u8>, String> {
    let entry = find(wheel, name).ok_or_else(|| format!("the wheel has no {name}"))?;
    let unpacked = unpack(wheel, &entry, bytes).ok_or_else(|| format!("{name} is damaged"))?;
    if unpacked.len() == bytes {
        return Ok(unpacked);
    }
    Err(format!("{name} does not have {bytes} bytes"))
}

struct Entry {
    method: usize,
    packed_bytes: usize,
    header: usize,
}

fn find(wheel: &[u8], name: &str) -> Option<Entry> {
    let earliest = wheel.len().saturating_sub(END.1 + MAX_COMMENT);
    let end = wheel[earliest..]
        .windows(END.0.len())
        .rposition(|window| window == END.0)?;
    let end = record(wheel, earliest + end, END)?;
    let (count, mut place) = (number(end, 10, 2)?, number(end, 16, 4)?);
    for _ in 0..count {
        let entry = record(wheel, place, ENTRY)?;
        let (name_len, extra_len, comment_len) = (
            number(entry, 28, 2)?,
            number(entry, 30, 2)?,
            number(entry, 32, 2)?,
        );
        let after = place.checked_add(ENTRY.1)?;
        if wheel.get(after..after.checked_add(name_len)?)? == name.as_bytes() {
            return Some(Entry {
                method: number(entry, 10, 2)?,
                packed_bytes: number(entry, 20, 4)?,
                header: number(entry, 42, 4)?,
            });
        }
        place = after.checked_add(name_len + extra_len + comment_len)?;
    }
    None
}

fn unpack(wheel: &[u8], entry: &Entry, bytes: usize) -> Option<Vec<u8>> {
    let local = record(wheel, entry.header, LOCAL)?;
    let names = number(local, 26, 2)? + number(local, 28, 2)?;
    let start = entry.header.checked_add(LOCAL.1 + names)?;
    let packed = wheel.get(start..start.checked_add(entry.packed_bytes)?)?;
    let mut unpacked = Vec::new();
    // One byte more shows that a file is too long.
    let most = bytes as u64 + 1;
    let read = match entry.method {
        0 => packed.take(most).read_to_end(&mut unpacked),
        8 => DeflateDecoder::new(packed)
            .take(most)
            .read_to_end(&mut unpacked),
        _ => return None,
    };
    read.ok().map(|_| unpacked)
}

fn record<'a>(wheel: &'a [u8], place: usize, (signature, len): (&[u8], usize)) -> Option<&'a [u8]> {
    let record = wheel.get(place..place.checked_add(len)?)?;
    record.starts_with(signature).then_some(record)
}

/// A little-endian number of a record.
fn number(record: &[u8], place: usize, len: usize) -> Option<usize> {
    let bytes = record.get(place..place + len)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | usize::from(byte)),
    )
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;
    use proptest::prelude::*;

    use super::*;

    /// A zip file; sums are left out, since nothing here reads them.
    pub fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
        let (mut out, mut directory) = (Vec::new(), Vec::new());
        for (index, (name, bytes)) in files.iter().enumerate() {
            let method = if index % 2 == 0 { 8_u16 } else { 0 };
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(bytes).unwrap();
            let packed = match method {
                8 => encoder.finish().unwrap(),
                _ => bytes.to_vec(),
            };
            let header = (out.len() as u32).to_le_bytes();
            let sizes = [(packed.len() as u32), bytes.len() as u32].map(u32::to_le_bytes);
            let name_len = (name.len() as u16).to_le_bytes();
            let mut common = vec![20, 0, 0, 0];
            common.extend(method.to_le_bytes());
            common.extend([0; 8]);
            common.extend(sizes.concat());
            common.extend(name_len);
            out.extend([LOCAL.0, &common, &[0, 0], name.as_bytes(), &packed].concat());
            let rest = [&[0; 12][..], &header, name.as_bytes()].concat();
            directory.extend([ENTRY.0, &[20, 0], &common[..], &rest].concat());
        }
        let place = (out.len() as u32).to_le_bytes();
        let count = (files.len() as u16).to_le_bytes();
        let len = (directory.len() as u32).to_le_bytes();
        out.extend(directory);
        out.extend([END.0, &[0; 4], &count, &count, &len, &place, &[0, 0]].concat());
        out
    }

    #[test]
    fn packed_and_plain_members_come_out() {
        let wheel = zip(&[("a/x", b"packed packed packed"), ("a/y", b"plain")]);
        assert_eq!(member(&wheel, "a/x", 20).unwrap(), b"packed packed packed");
        assert_eq!(member(&wheel, "a/y", 5).unwrap(), b"plain");
        assert!(member(&wheel, "a/z", 5).unwrap_err().contains("has no a/z"));
        for bytes in [0, 4, 6] {
            assert!(member(&wheel, "a/y", bytes).is_err());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn damaged_wheels_never_panic(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            kept in 0.0..=1.0_f64,
        ) {
            let mut wheel = zip(&[("a/x", b"packed packed packed"), ("a/y", b"plain")]);
            for (place, byte) in changes {
                let place = place.index(wheel.len());
                wheel[place] = byte;
            }
            wheel.truncate((wheel.len() as f64 * kept) as usize);
            for name in ["a/x", "a/y"] {
                if let Ok(bytes) = member(&wheel, name, 5) {
                    prop_assert_eq!(bytes.len(), 5);
                }
            }
        }
    }
}
