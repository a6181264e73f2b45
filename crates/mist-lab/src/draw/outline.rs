//! Frames and crosses.

use mist_geometry::PixelBox;

use super::rect::Rect;

/// Boxes that cover the picture more often than this hide it.
const MAX_COVERS: usize = 3;

/// Arms of a cross in widths of its line.
const CROSS_REACH: i64 = 3;

/// The picture's longer side for each pixel of a line's width.
const SIDE_PER_LINE: f32 = 1200.0;

/// How lines are drawn, in canvas pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub width: i64,
    /// A darker rim outside of the line, which separates it from what is bright.
    pub edge: i64,
}

impl Line {
    /// As thick as it must be to be seen when the whole picture is on a screen.
    pub fn for_picture((width_px, height_px): (usize, usize)) -> Self {
        let width = (width_px.max(height_px) as f32 / SIDE_PER_LINE).round();
        let width = (width as i64).max(1);
        Self {
            width,
            edge: (width / 2).max(1),
        }
    }
}

/// Where a mark stands on the canvas.
pub(super) struct MarkShape {
    pub frame: Rect,
    centre: (i64, i64),
}

impl MarkShape {
    /// Nothing for a box that is not finite, has no size or is not visible.
    pub fn new(bounds: PixelBox, zoom: usize, size_px: (usize, usize), line: Line) -> Option<Self> {
        let edges = [
            bounds.x_min_px,
            bounds.y_min_px,
            bounds.x_max_px,
            bounds.y_max_px,
        ];
        let is_box = bounds.width_px() > 0.0 && bounds.height_px() > 0.0;
        if !is_box || !edges.iter().all(|edge| edge.is_finite()) {
            return None;
        }
        // What is far outside comes to stand just outside, where nothing of it is seen either.
        let reach = (line.width * (CROSS_REACH + 1) + line.edge + 1) as f32;
        let place = |offset_px: f32, limit_px: usize| {
            let offset = (offset_px * zoom as f32).round();
            offset.clamp(-reach, limit_px as f32 + reach) as i64
        };
        let (width_px, height_px) = size_px;
        let (left, top) = (place(edges[0], width_px), place(edges[1], height_px));
        let frame = Rect {
            left,
            top,
            right: place(edges[2], width_px).max(left + 1),
            bottom: place(edges[3], height_px).max(top + 1),
        };
        frame.clipped(width_px, height_px)?;
        let (x_px, y_px) = bounds.centre_px();
        Some(Self {
            frame,
            centre: (place(x_px, width_px), place(y_px, height_px)),
        })
    }

    /// Whether frames would hide the picture.
    pub fn is_crowded<'a>(
        shapes: impl Iterator<Item = &'a Self>,
        (width_px, height_px): (usize, usize),
    ) -> bool {
        let covered: usize = shapes
            .filter_map(|shape| shape.frame.clipped(width_px, height_px))
            .map(|(xs, ys)| xs.len() * ys.len())
            .sum();
        covered > MAX_COVERS * width_px * height_px
    }

    /// The parts of the line.
    pub fn strokes(&self, line: Line, as_cross: bool) -> Vec<Rect> {
        match as_cross {
            true => self.cross(line).to_vec(),
            false => self.frame.frame(line.width).to_vec(),
        }
    }

    /// The parts of the rim around the line.
    pub fn edges(&self, line: Line, as_cross: bool) -> Vec<Rect> {
        match as_cross {
            true => self.cross(line).map(|bar| bar.grown(line.edge)).to_vec(),
            false => self.frame.grown(line.edge).frame(line.edge).to_vec(),
        }
    }

    fn cross(&self, line: Line) -> [Rect; 2] {
        let (x, y) = self.centre;
        let (low, high) = (line.width / 2, line.width - line.width / 2);
        let reach = line.width * CROSS_REACH;
        let bar = |across: i64, down: i64| Rect {
            left: x - low - across,
            top: y - low - down,
            right: x + high + across,
            bottom: y + high + down,
        };
        [bar(reach, 0), bar(0, reach)]
    }
}
