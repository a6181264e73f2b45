//! What cannot be drawn.

use super::canvas::MAX_SHEET_PX;

/// A picture that cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DrawError {
    /// The picture would have no pixels.
    #[error(
        "a picture of {width_px} x {height_px} px is empty; draw at least one image that has pixels, with a zoom and a number of columns of at least 1"
    )]
    Empty {
        /// Columns of pixels.
        width_px: usize,
        /// Rows of pixels.
        height_px: usize,
    },
    /// The picture would have more pixels than [`MAX_SHEET_PX`].
    #[error(
        "a picture of {width_px} x {height_px} px exceeds the limit of {MAX_SHEET_PX} px; draw fewer images or choose a smaller zoom"
    )]
    TooLarge {
        /// Columns of pixels; `usize::MAX` stands for any number beyond it.
        width_px: usize,
        /// Rows of pixels; `usize::MAX` stands for any number beyond it.
        height_px: usize,
    },
    /// The picture would take more memory than there is.
    #[error(
        "a picture of it takes about {needed_mb} MB of memory and {free_mb} MB are free; cut the image into parts"
    )]
    Memory {
        /// What it takes.
        needed_mb: u64,
        /// What is free.
        free_mb: u64,
    },
}
