//! Where the parts of a picture stand.

use super::{Canvas, Colour, DrawError, MAX_SHEET_PX};

/// Pixels between two parts of a picture.
pub const GAP_PX: usize = 3;

/// Columns and rows of any widths and heights, with gaps between them.
pub(super) struct Grid {
    lefts_px: Vec<usize>,
    tops_px: Vec<usize>,
    width_px: usize,
    height_px: usize,
}

impl Grid {
    pub fn new(widths_px: &[usize], heights_px: &[usize]) -> Self {
        let (lefts_px, width_px) = starts(widths_px);
        let (tops_px, height_px) = starts(heights_px);
        Self {
            lefts_px,
            tops_px,
            width_px,
            height_px,
        }
    }

    /// Leaves a gap around everything as well.
    pub fn with_border(mut self) -> Self {
        for start in self.lefts_px.iter_mut().chain(&mut self.tops_px) {
            *start = start.saturating_add(GAP_PX);
        }
        for side in [&mut self.width_px, &mut self.height_px] {
            if *side > 0 {
                *side = side.saturating_add(2 * GAP_PX);
            }
        }
        self
    }

    pub fn canvas(&self) -> Result<Canvas, DrawError> {
        Canvas::new(self.width_px, self.height_px, Colour::GAP)
    }

    /// The size of the canvas, if there can be one.
    pub fn checked_size_px(&self) -> Result<(usize, usize), DrawError> {
        Canvas::check_size(self.width_px, self.height_px, MAX_SHEET_PX)?;
        Ok((self.width_px, self.height_px))
    }

    /// The top-left corner of a cell.
    pub fn corner_px(&self, column: usize, row: usize) -> (usize, usize) {
        (self.lefts_px[column], self.tops_px[row])
    }
}

/// Where each part begins, and where the last one ends; empty parts leave no gap.
fn starts(sizes_px: &[usize]) -> (Vec<usize>, usize) {
    let mut starts = Vec::with_capacity(sizes_px.len());
    let mut end_px = 0_usize;
    for &size_px in sizes_px {
        let gap_px = if end_px > 0 && size_px > 0 { GAP_PX } else { 0 };
        let start_px = end_px.saturating_add(gap_px);
        starts.push(start_px);
        end_px = start_px.saturating_add(size_px);
    }
    (starts, end_px)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_stand_between_what_has_a_size() {
        let grid = Grid::new(&[0, 5, 0, 7], &[2]);
        assert_eq!((grid.width_px, grid.height_px), (12 + GAP_PX, 2));
        assert_eq!(grid.corner_px(3, 0), (5 + GAP_PX, 0));
        let bordered = grid.with_border();
        assert_eq!(bordered.corner_px(3, 0), (5 + 2 * GAP_PX, GAP_PX));
        assert_eq!(bordered.width_px, 12 + 3 * GAP_PX);
        assert!(Grid::new(&[0, 0], &[4]).with_border().canvas().is_err());
    }

    #[test]
    fn sizes_beyond_counting_are_refused() {
        let grid = Grid::new(&[usize::MAX, 9], &[1]).with_border();
        assert!(grid.canvas().is_err());
    }
}
