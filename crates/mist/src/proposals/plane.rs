//! One channel of an image as plain numbers, row by row.

/// A map of `width_px` columns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plane {
    pub values: Vec<f32>,
    pub width_px: usize,
}

impl Plane {
    pub fn height_px(&self) -> usize {
        self.values.len() / self.width_px.max(1)
    }

    /// The value at a place, that of the nearest pixel outside.
    pub fn nearest(&self, x: isize, y: isize) -> f32 {
        let inside = |place: isize, side: usize| place.clamp(0, side as isize - 1) as usize;
        let (x, y) = (inside(x, self.width_px), inside(y, self.height_px()));
        self.values[y * self.width_px + x]
    }

    /// Between pixel centres; `outside` from half a pixel beyond the edge on.
    pub fn bilinear(&self, x_px: f32, y_px: f32, outside: f32) -> f32 {
        let (width, height) = (self.width_px as f32, self.height_px() as f32);
        if !(0.0..=width).contains(&x_px) || !(0.0..=height).contains(&y_px) {
            return outside;
        }
        let (left, top) = ((x_px - 0.5).floor(), (y_px - 0.5).floor());
        let (right_frac, low_frac) = (x_px - 0.5 - left, y_px - 0.5 - top);
        let (x, y) = (left as isize, top as isize);
        let row = |y| self.nearest(x, y) * (1.0 - right_frac) + self.nearest(x + 1, y) * right_frac;
        row(y) * (1.0 - low_frac) + row(y + 1) * low_frac
    }

    /// Smoothed by a Gaussian, repeating the edge.
    pub fn smoothed(&self, std_px: f32) -> Self {
        if std_px <= 0.0 {
            return self.clone();
        }
        let reach = (std_px * 3.0).ceil() as isize;
        let weight = |offset: isize| (-0.5 * (offset as f32 / std_px).powi(2)).exp();
        let sum: f32 = (-reach..=reach).map(weight).sum();
        let weights: Vec<f32> = (-reach..=reach)
            .map(|offset| weight(offset) / sum)
            .collect();
        let along = |plane: &Self, step: (isize, isize)| {
            let mut values = Vec::with_capacity(plane.values.len());
            for y in 0..plane.height_px() as isize {
                for x in 0..plane.width_px as isize {
                    let taps = (-reach..=reach).zip(&weights);
                    let tap = |(offset, weight): (isize, &f32)| {
                        plane.nearest(x + offset * step.0, y + offset * step.1) * weight
                    };
                    values.push(taps.map(tap).sum());
                }
            }
            Self {
                values,
                width_px: plane.width_px,
            }
        };
        along(&along(self, (1, 0)), (0, 1))
    }
}
