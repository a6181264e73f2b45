//! One picture on a sheet.

use std::ops::Range;

use mist_data::{Image, digit_dots};

use super::ramp;

/// Where on the sheet a plane of pixels is shown.
pub(super) struct Tile {
    pub left_px: usize,
    pub top_px: usize,
    pub width_px: usize,
    pub height_px: usize,
    pub zoom: usize,
}

impl Tile {
    /// Draws gray values in `[0, 1]`.
    pub fn draw_gray(&self, sheet: &mut Image, plane: &[f32]) {
        self.draw_pixels(sheet, plane, |value| [value.clamp(0.0, 1.0); 3]);
    }

    /// Draws nonnegative values by the colour ramp, the largest brightest.
    pub fn draw_heat(&self, sheet: &mut Image, plane: &[f32]) {
        let finite = plane.iter().copied().filter(|value| value.is_finite());
        let largest = finite.fold(f32::MIN_POSITIVE, f32::max);
        self.draw_pixels(sheet, plane, |value| ramp::colour(value / largest));
    }

    fn draw_pixels(&self, sheet: &mut Image, plane: &[f32], colour: impl Fn(f32) -> [f32; 3]) {
        for y_px in 0..self.height_px {
            for x_px in 0..self.width_px {
                let value = plane.get(y_px * self.width_px + x_px).copied();
                let value = value.filter(|value| value.is_finite()).unwrap_or(0.0);
                let left_px = self.left_px + x_px * self.zoom;
                let top_px = self.top_px + y_px * self.zoom;
                fill(
                    sheet,
                    left_px..left_px + self.zoom,
                    top_px..top_px + self.zoom,
                    colour(value),
                );
            }
        }
    }

    /// Draws outlines one dot wide, with the labels that there are inside the top-left corners of what
    /// is visible.
    ///
    /// What is not finite, or has no size, is not drawn.
    pub fn draw_boxes(
        &self,
        sheet: &mut Image,
        boxes: &[(f32, f32, f32)],
        labels: &[usize],
        colour: [f32; 3],
    ) {
        for (place, &(x_px, y_px, side_px)) in boxes.iter().enumerate() {
            if !(x_px.is_finite() && y_px.is_finite() && side_px.is_finite() && side_px > 0.0) {
                continue;
            }
            let (left, right) = self.edges(x_px, side_px, self.width_px);
            let (top, bottom) = self.edges(y_px, side_px, self.height_px);
            if right < 0 || bottom < 0 {
                continue;
            }
            let across = (left..=right).flat_map(|x| [(x, top), (x, bottom)]);
            let down = (top..=bottom).flat_map(|y| [(left, y), (right, y)]);
            let label = labels.get(place).map(|&label| digit_dots(label));
            let label = label.into_iter().flatten();
            let label = label.map(|(column, row)| (left + 2 + column, top + 2 + row));
            for (x, y) in across.chain(down).chain(label) {
                self.draw_dot(sheet, x, y, colour);
            }
        }
    }

    /// The first and the last dot of a box along one side of the tile.
    ///
    /// Edges far outside come to stand just outside, so that drawing them takes no time.
    fn edges(&self, centre_px: f32, side_px: f32, limit_px: usize) -> (i64, i64) {
        let limit = (limit_px * self.zoom) as f32;
        let enlarged = |offset_px: f32| {
            let offset = (offset_px * self.zoom as f32).round();
            offset.clamp(-1.0, limit + 1.0) as i64
        };
        let first = enlarged(centre_px - side_px / 2.0);
        (first, enlarged(centre_px + side_px / 2.0) - 1)
    }

    fn draw_dot(&self, sheet: &mut Image, x: i64, y: i64, colour: [f32; 3]) {
        let place = usize::try_from(x).ok().zip(usize::try_from(y).ok());
        let (limit_x, limit_y) = (self.width_px * self.zoom, self.height_px * self.zoom);
        if let Some((x, y)) = place.filter(|&(x, y)| x < limit_x && y < limit_y) {
            let (x, y) = (self.left_px + x, self.top_px + y);
            fill(sheet, x..x + 1, y..y + 1, colour);
        }
    }
}

/// Paints a rectangle of the sheet.
pub(super) fn fill(sheet: &mut Image, xs: Range<usize>, ys: Range<usize>, colour: [f32; 3]) {
    for (channel, value) in colour.into_iter().enumerate() {
        for y_px in ys.clone() {
            let start = sheet.offset(xs.start, y_px, channel);
            sheet.pixels[start..][..xs.len()].fill(value);
        }
    }
}
