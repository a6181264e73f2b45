//! Captions: how large, and where.

use std::ops::Range;

use super::rect::Rect;
use super::text::{TEXT_HEIGHT_PX, text_width_px};

/// Dots of a plate around its text.
const PADDING: usize = 1;

/// The picture's longer side for each pixel of a dot; a letter has eight dots.
const SIDE_PER_SCALE: f32 = 600.0;

/// Pictures smaller than this are mostly parts of a sheet, with little room for large letters.
const SMALL_SIDE_PX: usize = 400;

/// The fraction of a picture that captions may cover.
const MAX_COVER: f32 = 0.2;

/// The fraction of a small picture that captions of large letters may cover.
const MAX_LARGE_COVER: f32 = 0.08;

const ELLIPSIS: &str = "..";

/// The side of a dot such that text can be read when the whole picture is on a screen.
pub(super) fn readable_scale((width_px, height_px): (usize, usize)) -> usize {
    let longer_px = width_px.max(height_px) as f32;
    ((longer_px / SIDE_PER_SCALE).round() as usize).max(2)
}

/// The largest scale up to the readable one at which these captions leave enough of the picture to
/// be seen, or nothing where they are too many for any.
pub(super) fn caption_scale<'a>(
    captions: impl Iterator<Item = &'a str>,
    size_px: (usize, usize),
) -> Option<usize> {
    let plates_px2: usize = captions
        .filter(|text| !text.is_empty())
        .map(|text| plate_width(text, 1) * plate_height(1))
        .sum();
    let is_small = size_px.0.max(size_px.1) < SMALL_SIDE_PX;
    let fits = |&scale: &usize| {
        let cover = (plates_px2 * scale * scale) as f32 / (size_px.0 as f32 * size_px.1 as f32);
        cover
            <= if is_small && scale > 1 {
                MAX_LARGE_COVER
            } else {
                MAX_COVER
            }
    };
    (1..=readable_scale(size_px)).rev().find(fits)
}

fn plate_width(text: &str, scale: usize) -> usize {
    text_width_px(text, scale).saturating_add(2 * PADDING * scale)
}

fn plate_height(scale: usize) -> usize {
    (TEXT_HEIGHT_PX + 2 * PADDING) * scale
}

/// A caption where it is to be drawn.
pub(super) struct Caption {
    pub text: String,
    pub scale: usize,
    pub plate: Rect,
    pub text_at: (usize, usize),
}

/// Puts captions beside boxes such that they cover each other as little as possible.
pub(super) struct CaptionLayout {
    width_px: usize,
    height_px: usize,
    scale: usize,
    /// Whether there is a caption already, in cells of `scale * scale` pixels.
    taken: Vec<bool>,
    cells_across: usize,
}

impl CaptionLayout {
    pub fn new((width_px, height_px): (usize, usize), scale: usize) -> Self {
        let cells_across = width_px.div_ceil(scale);
        Self {
            width_px,
            height_px,
            scale,
            taken: vec![false; cells_across * height_px.div_ceil(scale)],
            cells_across,
        }
    }

    /// Nothing where the text is empty or the picture is too small for it.
    pub fn place(&mut self, text: &str, frame: Rect, line_px: i64) -> Option<Caption> {
        let (text, scale) = self.fit(text)?;
        let plate = self.best_plate(&text, scale, frame, line_px)?;
        for row in self.cells(plate) {
            self.taken[row].fill(true);
        }
        let at = |offset: i64| offset as usize + PADDING * scale;
        Some(Caption {
            text_at: (at(plate.left), at(plate.top)),
            text,
            scale,
            plate,
        })
    }

    /// Text that is too wide for the picture is made smaller, then cut.
    fn fit(&self, text: &str) -> Option<(String, usize)> {
        if text.is_empty() {
            return None;
        }
        let fits = |text: &str, scale| plate_width(text, scale) <= self.width_px;
        if let Some(scale) = (1..=self.scale).rev().find(|&scale| fits(text, scale)) {
            return Some((text.to_owned(), scale));
        }
        let ends = text.char_indices().map(|(end, _)| end).skip(1);
        let cut = ends.map(|end| format!("{}{ELLIPSIS}", &text[..end]));
        let cut = cut.take_while(|text| fits(text, 1)).last();
        cut.map(|text| (text, 1))
    }

    /// Above the box, inside, and further places for those whose place is taken.
    fn best_plate(&self, text: &str, scale: usize, frame: Rect, line_px: i64) -> Option<Rect> {
        let (xs, ys) = frame.clipped(self.width_px, self.height_px)?;
        let (width, height) = (plate_width(text, scale) as i64, plate_height(scale) as i64);
        let (left, right) = (xs.start as i64, xs.end as i64);
        let (top, bottom) = (ys.start as i64, ys.end as i64);
        let lowest = self.height_px as i64 - height;
        let rightmost = self.width_px as i64 - width;
        let places = [
            (left, top - height),
            (left + line_px, top + line_px),
            (right - width, top - height),
            (left, bottom),
            (right - width, bottom),
            (left + line_px, bottom - line_px - height),
        ];
        let plates = places.into_iter().filter(|(_, y)| (0..=lowest).contains(y));
        let plates = plates.map(|(x, y)| {
            let x = x.min(rightmost).max(0);
            Rect {
                left: x,
                top: y,
                right: x + width,
                bottom: y + height,
            }
        });
        plates.min_by_key(|&plate| self.overlap(plate))
    }

    fn overlap(&self, plate: Rect) -> usize {
        let taken = |row: Range<usize>| self.taken[row].iter().filter(|&&taken| taken).count();
        self.cells(plate).map(taken).sum()
    }

    /// The cells under a plate, row after row.
    fn cells(&self, plate: Rect) -> impl Iterator<Item = Range<usize>> + use<> {
        let (scale, cells_across) = (self.scale, self.cells_across);
        let clipped = plate.clipped(self.width_px, self.height_px);
        clipped.into_iter().flat_map(move |(xs, ys)| {
            (ys.start / scale..ys.end.div_ceil(scale)).map(move |row| {
                row * cells_across + xs.start / scale..row * cells_across + xs.end.div_ceil(scale)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(left: i64, top: i64, right: i64, bottom: i64) -> Rect {
        Rect {
            left,
            top,
            right,
            bottom,
        }
    }

    #[test]
    fn captions_stay_inside_the_picture() {
        let mut layout = CaptionLayout::new((300, 200), 2);
        let corners = [-90, -20, 0, 3, 90, 170, 199, 280];
        for (x, y) in corners.iter().flat_map(|&x| corners.map(|y| (x, y))) {
            for side in [1, 30, 1000] {
                let Some(caption) = layout.place("seven 0.93", frame(x, y, x + side, y + side), 1)
                else {
                    assert!(x + side <= 0 || y + side <= 0 || y >= 200, "at {x}, {y}");
                    continue;
                };
                let plate = caption.plate;
                assert!(plate.left >= 0 && plate.right <= 300, "{plate:?}");
                assert!(plate.top >= 0 && plate.bottom <= 200, "{plate:?}");
                let width = text_width_px(&caption.text, caption.scale);
                assert_eq!(caption.text_at.0, plate.left as usize + 2);
                assert_eq!(caption.text_at.0 + width + 2, plate.right as usize);
            }
        }
    }

    #[test]
    fn captions_evade_each_other() {
        let mut layout = CaptionLayout::new((300, 200), 1);
        let frame = frame(100, 100, 180, 180);
        let plates: Vec<Rect> = (0..4)
            .filter_map(|_| layout.place("seven", frame, 1))
            .map(|caption| caption.plate)
            .collect();
        assert_eq!((plates[0].left, plates[0].bottom), (100, 100));
        for (place, plate) in plates.iter().enumerate() {
            for other in &plates[..place] {
                let apart_x = plate.right <= other.left || other.right <= plate.left;
                let apart_y = plate.bottom <= other.top || other.bottom <= plate.top;
                assert!(apart_x || apart_y, "{plate:?} and {other:?}");
            }
        }
    }

    #[test]
    fn long_captions_are_made_smaller_then_cut() {
        let fit = |width_px: usize| CaptionLayout::new((width_px, 50), 3).fit("a long name");
        let width = plate_width("a long name", 1);
        assert_eq!(fit(3 * width), Some(("a long name".into(), 3)));
        assert_eq!(fit(3 * width - 1), Some(("a long name".into(), 2)));
        assert_eq!(fit(width), Some(("a long name".into(), 1)));
        let (cut, scale) = fit(width - 1).unwrap();
        assert!(
            cut.starts_with("a long") && cut.ends_with(ELLIPSIS),
            "{cut}"
        );
        assert_eq!(scale, 1);
        assert_eq!(fit(3), None);
    }

    #[test]
    fn text_grows_with_the_picture_and_shrinks_where_captions_are_many() {
        let scale = |count: usize, size_px: (usize, usize)| {
            caption_scale(std::iter::repeat_n("seven 0.93", count), size_px)
        };
        assert_eq!(scale(9, (640, 640)), Some(2));
        assert_eq!(scale(9, (4000, 3000)), Some(7));
        assert_eq!(scale(1000, (4000, 4000)), Some(2));
        assert_eq!(scale(9, (240, 240)), Some(1));
        assert_eq!(scale(100, (240, 240)), None);
    }
}
