//! Sums over square windows.

/// The part of a window around a pixel that lies in the image.
pub(crate) fn window(at: usize, side: usize, end: usize) -> (usize, usize) {
    let from = at.saturating_sub(side / 2);
    let to = (at + side - side / 2).min(end);
    (from, to)
}

/// Sums over windows in constant time.
pub(crate) struct WindowSums {
    /// Sum over all rows above and columns before, `[height + 1][width + 1]`.
    table: Vec<f64>,
    pub width: usize,
    pub height: usize,
}

impl WindowSums {
    pub fn new(values: &[f32], width: usize) -> Self {
        let height = values.len() / width.max(1);
        let stride = width + 1;
        let mut table = vec![0.0; stride * (height + 1)];
        for y in 0..height {
            let mut row = 0.0;
            for x in 0..width {
                row += f64::from(values[y * width + x]);
                table[(y + 1) * stride + x + 1] = table[y * stride + x + 1] + row;
            }
        }
        Self {
            table,
            width,
            height,
        }
    }

    pub fn around(&self, x: usize, y: usize, side: usize) -> f64 {
        let (left, right) = window(x, side, self.width);
        let (top, bottom) = window(y, side, self.height);
        let at = |x: usize, y: usize| self.table[y * (self.width + 1) + x];
        at(right, bottom) - at(left, bottom) - at(right, top) + at(left, top)
    }
}
