//! Bilinear interpolation of one box: along x on the lines that it reads, then along y between those lines.

use super::axis::Axis;
use super::lines::Lines;
use super::padded::Padded;
use super::sizes::Sizes;

/// Positions of one box's samples in the source and in the output.
#[derive(Default)]
pub(super) struct Samples {
    pub columns: Axis,
    pub rows: Axis,
    pub lines: Lines,
    pub plane_px: usize,
    pub width_px: usize,
}

impl Samples {
    /// A patch's pixels in the image, which is then the source.
    pub fn place_patch(&mut self, [x_px, y_px, scale]: [f32; 3], sizes: &Sizes) {
        let (base, patch_px) = (sizes.base_box_px, sizes.patch_px);
        let [columns, rows] = [&mut self.columns, &mut self.rows];
        columns.place_patch(x_px, scale, base, patch_px, sizes.width_px);
        rows.place_patch(y_px, scale, base, patch_px, sizes.height_px);
        self.lines.find(&self.rows.lower, sizes.height_px);
        self.plane_px = patch_px * patch_px;
        self.width_px = patch_px;
    }

    /// An image's pixels in the patch, which is then the source.
    pub fn place_image(&mut self, [x_px, y_px, scale]: [f32; 3], sizes: &Sizes) {
        let (base, patch_px) = (sizes.base_box_px, sizes.patch_px);
        let [columns, rows] = [&mut self.columns, &mut self.rows];
        columns.place_image(x_px, scale, base, sizes.width_px, patch_px);
        rows.place_image(y_px, scale, base, sizes.height_px, patch_px);
        self.lines.find(&self.rows.lower, patch_px);
        self.plane_px = sizes.height_px * sizes.width_px;
        self.width_px = sizes.width_px;
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.columns.len() == 0 || self.rows.len() == 0
    }

    /// Index of a row's first sample in its plane.
    pub fn start(&self, row: usize) -> usize {
        (self.rows.first + row) * self.width_px + self.columns.first
    }

    /// Adds the samples of every channel to `[channel][row][column]` planes; `values` is scratch memory.
    pub fn read(&self, source: &Padded, target: &mut [f32], values: &mut Vec<f32>) {
        if self.is_empty() {
            return;
        }
        let count = self.columns.len();
        values.resize(self.lines.read.len() * count, 0.0);
        for (channel, plane) in target.chunks_exact_mut(self.plane_px).enumerate() {
            let lines = self.lines.read.iter().zip(values.chunks_exact_mut(count));
            for (&line, values) in lines {
                gather(source.line(channel, line), &self.columns, values);
            }
            for (row, &slot) in self.lines.slots.iter().enumerate() {
                let fraction = self.rows.fraction[row];
                let (upper, lower) = values[slot * count..][..2 * count].split_at(count);
                let outputs = &mut plane[self.start(row)..][..count];
                for ((output, &upper), &lower) in outputs.iter_mut().zip(upper).zip(lower) {
                    *output += upper + fraction * (lower - upper);
                }
            }
        }
    }
}

fn gather(line: &[f32], columns: &Axis, values: &mut [f32]) {
    let neighbours = columns.lower.iter().zip(&columns.fraction);
    for (value, (&lower, &fraction)) in values.iter_mut().zip(neighbours) {
        let (left, right) = (line[lower], line[lower + 1]);
        *value = left + fraction * (right - left);
    }
}
