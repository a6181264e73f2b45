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
        let pixels: Vec<Pixel> = (0..gray.len())
            .step_by(step)
            .map(|place| Pixel {
                terms: surface.terms(place % width_px, place / width_px),
                value: gray[place],
            })
            .collect();
        let mut kept = pixels.clone();
        for _ in 0..ROUNDS {
            let Some(factors) = least_squares(&kept) else {
                break;
            };
            surface.factors = factors;
            let above: Vec<f32> = pixels
                .iter()
                .map(|pixel| pixel.value - surface.height(&pixel.terms))
                .collect();
            let low = above.iter().copied().fold(f32::INFINITY, f32::min);
            let high = above.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let range = (high - low).max(f32::MIN_POSITIVE);
            let shares: Vec<f32> = above.iter().map(|value| (value - low) / range).collect();
            let threshold = otsu(&shares);
            let pairs = pixels.iter().zip(&shares);
            kept.clear();
            kept.extend(
                pairs
                    .filter(|(_, share)| **share < threshold)
                    .map(|(pixel, _)| *pixel),
            );
        }
        surface
    }

    /// Takes its height from every pixel of a plane.
    pub fn subtract(&self, plane: &mut [f32]) {
        for (y, row) in plane.chunks_exact_mut(self.width_px.max(1)).enumerate() {
            for (x, value) in row.iter_mut().enumerate() {
                *value -= self.height(&self.terms(x, y));
            }
        }
    }

    fn height(&self, terms: &[f64; TERMS]) -> f32 {
        let products = terms.iter().zip(self.factors);
        let sum: f64 = products.map(|(term, factor)| term * factor).sum();
        sum as f32
    }

    fn terms(&self, x: usize, y: usize) -> [f64; TERMS] {
        let [x, y] = [x, y].map(|place| place as f64 / self.longer_px - 0.5);
        [1.0, x, y, x * x, x * y, y * y]
    }
}

/// A pixel that a fit looks at.
#[derive(Clone, Copy)]
struct Pixel {
    terms: [f64; TERMS],
    value: f32,
}

/// The factors with the least squared error at some pixels; `None` where they do not determine them.
fn least_squares(pixels: &[Pixel]) -> Option<[f64; TERMS]> {
    // Normal equations, each with its right side last.
    let mut rows = [[0.0; TERMS + 1]; TERMS];
    for Pixel { terms, value } in pixels {
        for (row, term) in rows.iter_mut().zip(terms) {
            for (sum, other) in row.iter_mut().zip(terms) {
                *sum += term * other;
            }
            row[TERMS] += term * f64::from(*value);
        }
    }
    solve(rows)
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
        let mut left = gray.clone();
        Background::fit(&gray, width).subtract(&mut left);
        for (place, left) in left.iter().enumerate() {
            assert!((gray[place] - left - light(place)).abs() < 0.01);
        }
    }

    #[test]
    fn what_does_not_determine_a_surface_leaves_it_flat() {
        for gray in [vec![], vec![0.4; 3], vec![0.4; 9]] {
            let mut left = gray.clone();
            Background::fit(&gray, 3).subtract(&mut left);
            assert!(left.iter().all(|value| value.is_finite()));
        }
    }
}
