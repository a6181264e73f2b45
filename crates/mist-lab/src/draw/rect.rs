//! Rectangles of canvas pixels.

use std::ops::Range;

/// A rectangle of canvas pixels from `left..right` and `top..bottom`; it may reach beyond the canvas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rect {
    pub left: i64,
    pub top: i64,
    pub right: i64,
    pub bottom: i64,
}

impl Rect {
    pub fn grown(self, by: i64) -> Self {
        Self {
            left: self.left - by,
            top: self.top - by,
            right: self.right + by,
            bottom: self.bottom + by,
        }
    }

    /// The columns and rows inside a canvas, or nothing where there are none.
    pub fn clipped(self, width: usize, height: usize) -> Option<(Range<usize>, Range<usize>)> {
        let within = |first: i64, end: i64, limit: usize| {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let (first, end) = (first.clamp(0, limit), end.clamp(0, limit));
            (first < end).then_some(first as usize..end as usize)
        };
        let columns = within(self.left, self.right, width)?;
        Some((columns, within(self.top, self.bottom, height)?))
    }

    /// The rectangle's own frame: its top, bottom, left and right sides, without overlap.
    pub fn frame(self, thickness: i64) -> [Self; 4] {
        let inner_top = (self.top + thickness).min(self.bottom);
        let inner_bottom = (self.bottom - thickness).max(inner_top);
        let inner_left = (self.left + thickness).min(self.right);
        let inner_right = (self.right - thickness).max(inner_left);
        let side = |left, right| Self {
            left,
            top: inner_top,
            right,
            bottom: inner_bottom,
        };
        [
            Self {
                bottom: inner_top,
                ..self
            },
            Self {
                top: inner_bottom,
                ..self
            },
            side(self.left, inner_left),
            side(inner_right, self.right),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(rect: Rect) -> i64 {
        (rect.right - rect.left).max(0) * (rect.bottom - rect.top).max(0)
    }

    #[test]
    fn a_frame_covers_each_of_its_pixels_once() {
        let rect = |right, bottom| Rect {
            left: -3,
            top: 2,
            right,
            bottom,
        };
        for (right, bottom, expected) in [(7, 12, 64), (-2, 12, 10), (1, 5, 12), (0, 5, 9)] {
            let whole = rect(right, bottom);
            let sides = whole.frame(2);
            assert_eq!(sides.into_iter().map(area).sum::<i64>(), expected);
        }
    }

    #[test]
    fn only_what_is_inside_is_left() {
        let rect = Rect {
            left: -5,
            top: 3,
            right: 2,
            bottom: i64::MAX,
        };
        assert_eq!(rect.clipped(10, 10), Some((0..2, 3..10)));
        assert_eq!(rect.clipped(10, 3), None);
        assert_eq!(rect.clipped(0, 10), None);
    }
}
