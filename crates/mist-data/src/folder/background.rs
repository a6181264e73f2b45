//! Uneven light: the smooth surface that the background of an image lies on.

use super::otsu::otsu;

/// 1, x, y, x^2, xy and y^2.
const TERMS: usize = 6;
/// How often the surface is fitted anew to what is not above it.
const ROUNDS: usize = 3;
/// Pixels that a fit looks at.
const MAX_PIXELS: usize = 1 << 16;

/// A quadratic surface.
pub(super) struct Background {
    factors: [f64; TERMS],
    width_px: usize,
    longer_px: f64,
}

impl Background {
    /// Fits a surface to a gray image of bright objects: first to all pixels, then to those that Otsu's threshold of what
    /// is above the surface leaves. Flat where there is no telling.
    pub fn fit(gray: &[f32], width_px: usize) -> Self {
        let height_px = gray.len() / width_px.max(1);
        let mut surface = Self {
            factors: [0.0; TERMS],
            width_px,
            longer_px: width_px.max(height_px).max(1) as f64,
        };
        let step = gray.len().div_ceil(MAX_PIXELS).max(1);
        let mut kept: Vec<usize> = (0..gray.len()).step_by(step).collect();
        let looked_at = kept.clone();
        for _ in 0..ROUNDS {
            let Some(factors) = surface.least_squares(gray, &kept) else {
                break;
            };
            surface.factors = factors;
            let above: Vec<f32> = looked_at
                .iter()
                .map(|&place| gray[place] - surface.at(place))
                .collect();
            let low = above.iter().copied().fold(f32::INFINITY, f32::min);
            let high = above.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let range = (high - low).max(f32::MIN_POSITIVE);
            let shares: Vec<f32> = above.iter().map(|value| (value - low) / range).collect();
            let threshold = otsu(&shares);
            let pairs = looked_at.iter().zip(&shares);
            kept = pairs
                .filter(|(_, share)| **share < threshold)
                .map(|(place, _)| *place)
                .collect();
        }
        surface
    }

    /// Its height at a pixel.
    pub fn at(&self, place: usize) -> f32 {
        let terms = self.terms(place);
        let sum: f64 = terms
            .iter()
            .zip(self.factors)
            .map(|(term, factor)| term * factor)
            .sum();
        sum as f32
    }

    fn terms(&self, place: usize) -> [f64; TERMS] {
        let x = (place % self.width_px) as f64 / self.longer_px - 0.5;
        let y = (place / self.width_px) as f64 / self.longer_px - 0.5;
        [1.0, x, y, x * x, x * y, y * y]
    }

    /// The factors with the least squared error at some pixels; `None` where they do not determine them.
    fn least_squares(&self, gray: &[f32], places: &[usize]) -> Option<[f64; TERMS]> {
        // Normal equations, each with its right side last.
        let mut rows = [[0.0; TERMS + 1]; TERMS];
        for &place in places {
            let terms = self.terms(place);
            for (row, term) in rows.iter_mut().zip(terms) {
                for (sum, other) in row.iter_mut().zip(terms) {
                    *sum += term * other;
                }
                row[TERMS] += term * f64::from(gray[place]);
            }
        }
        solve(rows)
    }
}

/// Gaussian elimination with the largest pivot.
fn solve(mut rows: [[f64; TERMS + 1]; TERMS]) -> Option<[f64; TERMS]> {
    for column in 0..TERMS {
        let largest = (column..TERMS)
            .max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        rows.swap(column, largest);
        let pivot = rows[column];
        if pivot[column].abs() < 1e-6 {
            return None;
        }
        for (index, row) in rows.iter_mut().enumerate() {
            if index != column {
                let factor = row[column] / pivot[column];
                for (value, above) in row.iter_mut().zip(pivot) {
                    *value -= factor * above;
                }
            }
        }
    }
    let mut solution = [0.0; TERMS];
    for (index, value) in solution.iter_mut().enumerate() {
        *value = rows[index][TERMS] / rows[index][index];
    }
    Some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_surface_passes_below_objects() {
        let (width, height) = (60, 40);
        let light = |place: usize| {
            let (x, y) = ((place % width) as f32 / 60.0, (place / width) as f32 / 60.0);
            0.5 - 0.3 * x + 0.2 * x * y - 0.1 * y * y
        };
        let object = |place: usize| {
            let (x, y) = (place % width, place / width);
            (10..20).contains(&x) && (10..25).contains(&y)
        };
        let gray: Vec<f32> = (0..width * height)
            .map(|place| light(place) + if object(place) { 0.3 } else { 0.0 })
            .collect();
        let surface = Background::fit(&gray, width);
        for place in 0..gray.len() {
            assert!((surface.at(place) - light(place)).abs() < 0.01);
        }
    }

    #[test]
    fn what_does_not_determine_a_surface_leaves_it_flat() {
        for gray in [vec![], vec![0.4; 3], vec![0.4; 9]] {
            let surface = Background::fit(&gray, 3);
            assert!((0..gray.len()).all(|place| surface.at(place).is_finite()));
        }
    }
}
