//! Whether a JPEG file is whole: its decoder fills what is missing with gray.

/// Walks the segments from the start of the file to the end-of-image marker.
pub(super) fn is_whole(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    loop {
        // Entropy-coded data, between segments, has a zero or a restart number after each 0xff.
        let marker = rest.windows(2).position(|pair| {
            pair[0] == 0xff && !matches!(pair[1], 0x00 | 0x01 | 0xd0..=0xd8 | 0xff)
        });
        let Some(place) = marker else {
            return false;
        };
        if rest[place + 1] == 0xd9 {
            return true;
        }
        let segment = &rest[place + 2..];
        let Some(&[high, low]) = segment.first_chunk() else {
            return false;
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let Some(next) = segment.get(length..) else {
            return false;
        };
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_thumbnail_is_not_the_end_of_the_image() {
        let head = [0xff, 0xd8, 0xff, 0xe1, 0, 6, 0xff, 0xd8, 0xff, 0xd9];
        let scan = [0xff, 0xda, 0, 2, 1, 2, 0xff, 0, 3, 0xff, 0xd0, 4];
        let whole = [&head[..], &scan, &[0xff, 0xd9]].concat();
        assert!(is_whole(&whole));
        assert!(is_whole(&[&whole[..], b"trailing"].concat()));
        for length in 0..whole.len() {
            assert!(!is_whole(&whole[..length]), "{length}");
        }
    }
}
