//! Windows that overlap, and what each of them owns.

use std::ops::Range;

/// A window along one axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// What it shows.
    pub shown: Range<usize>,
    /// What it owns: at least a halo away from every edge of the window that is not the image's.
    pub owned: Range<usize>,
}

impl Span {
    /// The owned part, counted from the window's first pixel.
    pub fn owned_within(&self) -> Range<usize> {
        self.owned.start - self.shown.start..self.owned.end - self.shown.start
    }
}

/// Windows of one length that cover an axis, the last one pushed back inside.
pub(super) fn spans(side_px: usize, window_px: usize, halo_px: usize) -> Vec<Span> {
    // A window owns at least as much as it gives away.
    let window_px = window_px.max(4 * halo_px + 1).min(side_px);
    let mut spans = Vec::new();
    let mut next = 0;
    while next < side_px {
        let start = next.saturating_sub(halo_px).min(side_px - window_px);
        let end = start + window_px;
        let owned_end = if end == side_px { end } else { end - halo_px };
        spans.push(Span {
            shown: start..end,
            owned: next..owned_end,
        });
        next = owned_end;
    }
    spans
}

/// Rows and columns of every window, row by row.
pub(super) fn windows(rows: &[Span], columns: &[Span]) -> Vec<[Span; 2]> {
    let row = |row: &Span| {
        let row = row.clone();
        columns
            .iter()
            .map(move |column| [row.clone(), column.clone()])
    };
    rows.iter().flat_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pixel_has_one_owner_a_halo_away_from_the_seams() {
        for (side, window, halo) in [
            (100, 30, 4),
            (31, 30, 4),
            (7, 30, 4),
            (97, 10, 8),
            (50, 25, 0),
        ] {
            let spans = spans(side, window, halo);
            let mut next = 0;
            for Span { shown, owned } in &spans {
                assert_eq!(owned.start, next);
                assert!(!owned.is_empty() && shown.end <= side);
                assert!(shown.start == 0 || owned.start - shown.start >= halo);
                assert!(shown.end == side || shown.end - owned.end >= halo);
                assert_eq!(shown.len(), spans[0].shown.len());
                next = owned.end;
            }
            assert_eq!(next, side);
        }
    }
}
