//! Random smooth warps: a similarity and a thin-plate spline.

use burn::tensor::{Device, Tensor, TensorData};

use super::WarpConfig;
use super::landmarks::squared_distances;
use crate::baselines::noise::Noise;

/// Control points along each side.
const SIDE: usize = 7;
const POINTS: usize = SIDE * SIDE;
/// Coefficients of a spline: one per control point, and those of `1`, `x` and `y`.
const TERMS: usize = POINTS + 3;

/// `r^2 ln r`, the kernel of thin plates, of a squared distance.
fn kernel(square: f64) -> f64 {
    if square <= 0.0 {
        return 0.0;
    }
    0.5 * square * square.ln()
}

/// Control points on a canvas of side 1, from left to right and from top to bottom.
fn control_points() -> Vec<[f64; 2]> {
    let at = |index: usize| index as f64 / (SIDE - 1) as f64;
    let points = (0..POINTS).map(|point| [at(point % SIDE), at(point / SIDE)]);
    points.collect()
}

/// Splines through fixed control points: their system of equations, solved once.
#[derive(Clone, Debug)]
pub struct ThinPlates {
    /// Row by row, `TERMS x POINTS`: values at the control points to coefficients.
    solution: Vec<f64>,
    /// The terms at every pixel, `canvas^2 x TERMS`.
    terms: Vec<f32>,
    canvas_px: usize,
}

impl ThinPlates {
    /// For square images.
    pub fn new(canvas_px: usize) -> Self {
        let points = control_points();
        let mut system = vec![[0.0; 2 * TERMS]; TERMS];
        for (row, equation) in system.iter_mut().enumerate() {
            equation[TERMS + row] = 1.0;
            for (column, value) in equation[..TERMS].iter_mut().enumerate() {
                *value = match (row.checked_sub(POINTS), column.checked_sub(POINTS)) {
                    (None, None) => terms(points[row], &points)[column],
                    (None, Some(affine)) => [1.0, points[row][0], points[row][1]][affine],
                    (Some(affine), None) => [1.0, points[column][0], points[column][1]][affine],
                    (Some(_), Some(_)) => 0.0,
                };
            }
        }
        invert(&mut system);
        let rows = system.iter().flat_map(|row| &row[TERMS..TERMS + POINTS]);
        let solution = rows.copied().collect();
        let centre = |index: usize| (index as f64 + 0.5) / canvas_px as f64;
        let pixels = (0..canvas_px * canvas_px).flat_map(|pixel| {
            let place = [centre(pixel % canvas_px), centre(pixel / canvas_px)];
            terms(place, &points).map(|term| term as f32)
        });
        Self {
            solution,
            terms: pixels.collect(),
            canvas_px,
        }
    }

    /// The spline with these values at the control points: x and y for each.
    fn coefficients(&self, values: &[f32]) -> Vec<f32> {
        let row = |row: &[f64]| {
            let mut sums = [0.0; 2];
            for (weight, value) in row.iter().zip(values.chunks_exact(2)) {
                sums[0] += weight * f64::from(value[0]);
                sums[1] += weight * f64::from(value[1]);
            }
            sums.map(|sum| sum as f32)
        };
        self.solution.chunks_exact(POINTS).flat_map(row).collect()
    }

    /// The warps that take the 7 x 7 control points, from left to right and from top to bottom, to these places: x and y of
    /// each, image after image.
    pub fn through(&self, places: &[f32]) -> Warp {
        let images = places.chunks_exact(2 * POINTS);
        Warp {
            batch: images.len(),
            coefficients: images.flat_map(|image| self.coefficients(image)).collect(),
        }
    }

    /// One random warp per image.
    pub(super) fn draw(&self, config: &WarpConfig, batch: usize, noise: &mut Noise) -> Warp {
        let deviation = config.deviation_frac / (SIDE - 1) as f32;
        let mut places = Vec::with_capacity(batch * 2 * POINTS);
        for _ in 0..batch {
            let (sine, cosine) = (config.rotation_rad * noise.one()).sin_cos();
            let scale = (config.log_scale * noise.one()).exp();
            let shift = [(); 2].map(|()| 0.5 + config.shift_frac * (2.0 * noise.share() - 1.0));
            for point in control_points() {
                let [x, y] = point.map(|value| scale * (value as f32 - 0.5));
                let rotated = [cosine * x - sine * y, sine * x + cosine * y];
                for (rotated, shift) in rotated.into_iter().zip(shift) {
                    places.push(rotated + shift + deviation * noise.one());
                }
            }
        }
        self.through(&places)
    }

    /// Every image as it looks after the warp: the pixel at p shows what the image has at `warp(p)`; beyond the image all is zero.
    ///
    /// # Shapes
    /// - `pixels` and output: `[batch, channels, canvas_px, canvas_px]`, row by row
    pub fn apply(&self, warp: &Warp, pixels: &[f32], channels: usize) -> Vec<f32> {
        let area = self.canvas_px * self.canvas_px;
        let mut warped = vec![0.0; warp.batch * channels * area];
        let images = pixels
            .chunks_exact(channels * area)
            .zip(warped.chunks_exact_mut(channels * area));
        let splines = warp.coefficients.chunks_exact(2 * TERMS);
        for ((from, to), spline) in images.zip(splines) {
            for (pixel, terms) in self.terms.chunks_exact(TERMS).enumerate() {
                let mut place = [0.0_f32; 2];
                for (term, coefficient) in terms.iter().zip(spline.chunks_exact(2)) {
                    place[0] += term * coefficient[0];
                    place[1] += term * coefficient[1];
                }
                for channel in 0..channels {
                    let map = &from[channel * area..][..area];
                    to[channel * area + pixel] = self.bilinear(map, place);
                }
            }
        }
        warped
    }

    fn bilinear(&self, map: &[f32], place: [f32; 2]) -> f32 {
        let side = self.canvas_px as i64;
        let [x, y] = place.map(|share| share * self.canvas_px as f32 - 0.5);
        let (left, top) = (x.floor(), y.floor());
        let value = |dx: i64, dy: i64| {
            let (column, row) = (left as i64 + dx, top as i64 + dy);
            let inside = (0..side).contains(&column) && (0..side).contains(&row);
            if inside {
                map[(row * side + column) as usize]
            } else {
                0.0
            }
        };
        let (right, bottom) = (x - left, y - top);
        let upper = value(0, 0) * (1.0 - right) + value(1, 0) * right;
        let lower = value(0, 1) * (1.0 - right) + value(1, 1) * right;
        upper * (1.0 - bottom) + lower * bottom
    }
}

/// A warp for each image of a batch.
#[derive(Clone, Debug)]
pub struct Warp {
    /// `[batch, TERMS, 2]`
    coefficients: Vec<f32>,
    batch: usize,
}

impl Warp {
    /// Where points of the warped images come from, differentiable in the points.
    ///
    /// # Shapes
    /// - `points` and output: `[batch, n, 2]`
    pub fn map(&self, points: Tensor<3>) -> Tensor<3> {
        let device = points.device();
        let [batch, count, _] = points.dims();
        let controls = control_points().into_iter().flatten();
        let controls: Vec<f32> = controls.map(|value| value as f32).collect();
        let controls = TensorData::new(controls, [1, POINTS, 2]);
        let controls = Tensor::<3>::from_data(controls, &device).repeat_dim(0, batch);
        let squares = squared_distances(points.clone(), controls);
        let kernels = squares.clone() * (squares + 1e-12).log() * 0.5;
        let ones = Tensor::<3>::ones([batch, count, 1], &device);
        let terms = Tensor::cat(vec![kernels, ones, points], 2);
        terms.matmul(self.tensor(&device))
    }

    fn tensor(&self, device: &Device) -> Tensor<3> {
        let data = TensorData::new(self.coefficients.clone(), [self.batch, TERMS, 2]);
        Tensor::from_data(data, device)
    }
}

/// The terms of a spline at a place: a kernel for each control point, then 1, x and y.
fn terms(place: [f64; 2], points: &[[f64; 2]]) -> [f64; TERMS] {
    let mut terms = [0.0; TERMS];
    for (term, point) in terms.iter_mut().zip(points) {
        *term = kernel((place[0] - point[0]).powi(2) + (place[1] - point[1]).powi(2));
    }
    terms[POINTS..].copy_from_slice(&[1.0, place[0], place[1]]);
    terms
}

/// Gauss and Jordan with pivots, in place: `[A | 1]` to `[1 | A^-1]`. A system of distinct control points has a solution.
fn invert(system: &mut [[f64; 2 * TERMS]]) {
    for step in 0..TERMS {
        let largest = (step..TERMS).max_by(|&a, &b| {
            let [a, b] = [a, b].map(|row| system[row][step].abs());
            a.total_cmp(&b)
        });
        system.swap(step, largest.unwrap_or(step));
        let pivot = system[step];
        let factor = 1.0 / pivot[step];
        for (row, equation) in system.iter_mut().enumerate() {
            let share = if row == step {
                1.0 - factor
            } else {
                equation[step] * factor
            };
            for (value, above) in equation.iter_mut().zip(&pivot) {
                *value -= share * above;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splines_pass_through_their_control_points_and_affine_values_stay_affine() {
        let plates = ThinPlates::new(16);
        let points = control_points();
        let values: Vec<f32> = (0..2 * POINTS)
            .map(|i| ((i * 37) % 11) as f32 / 11.0)
            .collect();
        let spline = plates.coefficients(&values);
        for (point, value) in points.iter().zip(values.chunks_exact(2)) {
            let terms = terms(*point, &points);
            for axis in 0..2 {
                let sum: f64 = terms
                    .iter()
                    .zip(spline.chunks_exact(2))
                    .map(|(term, c)| term * f64::from(c[axis]))
                    .sum();
                assert!((sum - f64::from(value[axis])).abs() < 1e-3, "{sum}");
            }
        }
        let affine: Vec<f32> = points
            .iter()
            .flat_map(|p| [0.3 + p[0] as f32, 0.5 * p[1] as f32])
            .collect();
        let spline = plates.coefficients(&affine);
        assert!(spline[..2 * POINTS].iter().all(|c| c.abs() < 1e-4));
        assert!((spline[2 * POINTS] - 0.3).abs() < 1e-5);
    }

    #[test]
    fn without_randomness_nothing_moves_and_pixels_and_points_move_alike() {
        let plates = ThinPlates::new(16);
        let still = WarpConfig {
            deviation_frac: 0.0,
            shift_frac: 0.0,
            rotation_rad: 0.0,
            log_scale: 0.0,
        };
        let mut pixels = vec![0.0; 256];
        pixels[5 * 16 + 9] = 1.0;
        let warp = plates.draw(&still, 1, &mut Noise::of_step(1, 1));
        let same = plates.apply(&warp, &pixels, 1);
        assert!(same.iter().zip(&pixels).all(|(a, b)| (a - b).abs() < 1e-4));

        let warp = plates.draw(&WarpConfig::default(), 1, &mut Noise::of_step(1, 2));
        let ramp: Vec<f32> = (0..256).map(|i| (i % 16) as f32).collect();
        let warped = plates.apply(&warp, &ramp, 1);
        let middle = [8.5 / 16.0, 7.5 / 16.0];
        let points = Tensor::<3>::from_data([[middle]], &Device::flex());
        let from = warp.map(points).try_into_vec_as::<f32>().unwrap();
        let expected = from[0] * 16.0 - 0.5;
        assert!((warped[7 * 16 + 8] - expected).abs() < 1e-3);
    }
}
