//! How large an image may be.

/// Bounds on an image, checked against the header of a file before memory is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeLimits {
    /// Largest width and height.
    pub max_side_px: u32,
    /// Most bytes of the decoded [`Image`](super::Image), at four bytes a value; also of the file.
    pub max_bytes: u64,
}

impl Default for DecodeLimits {
    /// 1.25 GiB: 111 megapixels in colour, 335 in gray.
    fn default() -> Self {
        Self {
            max_side_px: 65_535,
            max_bytes: 5 << 28,
        }
    }
}

impl DecodeLimits {
    pub(super) fn check(
        &self,
        width_px: u32,
        height_px: u32,
        channels: usize,
    ) -> Result<(), String> {
        if width_px == 0 || height_px == 0 {
            return Err(format!("is {width_px} x {height_px} px: it has no pixels"));
        }
        let bytes = u64::from(width_px)
            .saturating_mul(u64::from(height_px))
            .saturating_mul((channels * size_of::<f32>()) as u64);
        if width_px.max(height_px) > self.max_side_px || bytes > self.max_bytes {
            return Err(format!(
                "is {width_px} x {height_px} px, {} MB in memory; the limit is {} px a side and {} MB: \
                 cut it into tiles or shrink it",
                megabytes(bytes),
                self.max_side_px,
                megabytes(self.max_bytes)
            ));
        }
        Ok(())
    }

    pub(super) fn check_file(&self, bytes: u64) -> Result<(), String> {
        if bytes > self.max_bytes {
            return Err(format!(
                "is a file of {} MB; the limit is {} MB",
                megabytes(bytes),
                megabytes(self.max_bytes)
            ));
        }
        Ok(())
    }
}

fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}
