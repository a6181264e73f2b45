//! An image in memory.

use std::ops::Range;

/// A planar image that somebody else holds: channel, then row, then column.
#[derive(Clone, Copy, Debug)]
pub struct ImageView<'a> {
    /// `channels * height_px * width_px` values.
    pub pixels: &'a [f32],
    /// Planes.
    pub channels: usize,
    /// Columns.
    pub width_px: usize,
    /// Rows.
    pub height_px: usize,
}

/// Where the values of one axis lie in a source of another length, for bilinear interpolation between pixel centres.
pub(super) struct Positions {
    /// The lower neighbour and the upper one's share.
    places: Vec<(usize, f32)>,
    last: usize,
}

impl Positions {
    /// Those of a part of an axis of `to` pixels over a source of `from`.
    pub fn new(part: Range<usize>, from: usize, to: usize) -> Self {
        let place = |index: usize| {
            let centre = (index as f64 + 0.5) * from as f64 / to as f64 - 0.5;
            let position = centre.clamp(0.0, (from - 1) as f64);
            let lower = position.floor();
            (lower as usize, (position - lower) as f32)
        };
        Self {
            places: part.map(place).collect(),
            last: from - 1,
        }
    }
}

/// Appends a part of a plane of `width` columns, resized.
pub(super) fn append_resized(
    to: &mut Vec<f32>,
    plane: &[f32],
    width: usize,
    rows: &Positions,
    columns: &Positions,
) {
    let between = |a: f32, b: f32, share: f32| match share {
        0.0 => a,
        share => a * (1.0 - share) + b * share,
    };
    for &(row, share) in &rows.places {
        let upper = &plane[row * width..][..width];
        let lower = &plane[(row + 1).min(rows.last) * width..][..width];
        to.extend(columns.places.iter().map(|&(x, x_share)| {
            let next = (x + 1).min(columns.last);
            between(
                between(upper[x], upper[next], x_share),
                between(lower[x], lower[next], x_share),
                share,
            )
        }));
    }
}

impl ImageView<'_> {
    /// Appends a part of the image, less the background.
    pub(super) fn append_part(
        &self,
        to: &mut Vec<f32>,
        rows: Range<usize>,
        columns: Range<usize>,
        background: f32,
    ) {
        let area = self.width_px * self.height_px;
        for plane in self.pixels.chunks_exact(area.max(1)) {
            for row in rows.clone() {
                let line = &plane[row * self.width_px..][columns.clone()];
                to.extend(line.iter().map(|value| value - background));
            }
        }
    }

    /// Appends a part of the image resized to `size` (rows, columns), less the background.
    pub(crate) fn append_resized(
        &self,
        to: &mut Vec<f32>,
        size: [usize; 2],
        [rows, columns]: [Range<usize>; 2],
        background: f32,
    ) {
        if size == [self.height_px, self.width_px] {
            return self.append_part(to, rows, columns, background);
        }
        let from = to.len();
        let area = self.width_px * self.height_px;
        let rows = Positions::new(rows, self.height_px, size[0]);
        let columns = Positions::new(columns, self.width_px, size[1]);
        for plane in self.pixels.chunks_exact(area.max(1)) {
            append_resized(to, plane, self.width_px, &rows, &columns);
        }
        for value in &mut to[from..] {
            *value -= background;
        }
    }
}
