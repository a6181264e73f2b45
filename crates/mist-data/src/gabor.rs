//! Procedural Gabor noise: A. Lagae et al., "Procedural noise using sparse Gabor convolution",
//! SIGGRAPH 2009. The paper's inverse rendering experiment (section 4, figure "gabor") recovers the
//! impulses from the image.

use std::f64::consts::{FRAC_PI_4, PI, TAU};
use std::ops::Range;

use crate::error::{RequestError, Result};
use crate::image::Image;
use crate::random::SceneRng;
use crate::scene::{Instance, Scene, square_around};

/// Weights are uniform in `[-1, 1]`, so their mean square is a third.
const MEAN_SQUARE_WEIGHT: f64 = 1.0 / 3.0;

/// Sparse Gabor noise: a kernel convolved with weighted Poisson impulses.
///
/// The kernel is `g(x, y) = exp(-pi a^2 (x^2 + y^2)) cos(2 pi F (x cos w + y sin w))`, cut off where
/// its envelope falls below `envelope_floor`. Impulses lie inside the canvas only, so that the
/// ground truth is complete; towards the edges the noise is therefore fainter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaborNoise {
    /// Side of the square canvas.
    pub canvas_px: usize,
    /// `a`, the width of the envelope, per pixel.
    pub bandwidth_per_px: f64,
    /// `F`, waves per pixel.
    pub frequency_per_px: f64,
    /// `w`, the direction of the wave.
    pub orientation_rad: f64,
    /// Envelope value at which the kernel is cut off.
    pub envelope_floor: f64,
    /// Mean number of impulses on the canvas.
    pub mean_impulses: f64,
    /// How many standard deviations of the noise span half the range of gray values.
    pub deviations: f64,
}

impl GaborNoise {
    /// The kernel and canvas of our experiments, with a mean number of impulses.
    pub fn with_mean_impulses(mean_impulses: f64) -> Self {
        Self {
            canvas_px: 128,
            bandwidth_per_px: 0.05,
            frequency_per_px: 0.0625,
            orientation_rad: FRAC_PI_4,
            envelope_floor: 0.05,
            mean_impulses,
            deviations: 3.0,
        }
    }

    pub(crate) fn validated(self) -> Result<Self> {
        let out_of_range = |name, value: String, expected| {
            Err(RequestError::OutOfRange {
                name,
                value,
                expected,
            }
            .into())
        };
        let positive = [
            ("bandwidth_per_px", self.bandwidth_per_px),
            ("deviations", self.deviations),
        ];
        for (name, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return out_of_range(name, value.to_string(), "positive");
            }
        }
        let finite = [
            ("frequency_per_px", self.frequency_per_px),
            ("orientation_rad", self.orientation_rad),
        ];
        for (name, value) in finite {
            if !value.is_finite() {
                return out_of_range(name, value.to_string(), "finite");
            }
        }
        if !(1..=8192).contains(&self.canvas_px) {
            return out_of_range("canvas_px", self.canvas_px.to_string(), "from 1 to 8192");
        }
        if !(0.0..=1e6).contains(&self.mean_impulses) || self.mean_impulses == 0.0 {
            let value = self.mean_impulses.to_string();
            return out_of_range("mean_impulses", value, "above 0 and at most 1000000");
        }
        if !(1e-6..1.0).contains(&self.envelope_floor) {
            let value = self.envelope_floor.to_string();
            return out_of_range("envelope_floor", value, "from 0.000001 to below 1");
        }
        Ok(self)
    }

    /// Where the kernel is cut off: `exp(-pi a^2 r^2)` equals the floor at this radius.
    pub fn kernel_radius_px(&self) -> f64 {
        (-libm::log(self.envelope_floor) / PI).sqrt() / self.bandwidth_per_px
    }

    /// Variance of the noise away from the canvas edges, before it becomes gray values.
    ///
    /// Campbell's theorem: a Poisson process of density `d` with independent weights `u` of mean 0
    /// has the variance `d E[u^2] * integral of g^2`. With `cos^2 = (1 + cos 2) / 2`,
    /// `g^2 = exp(-2 pi a^2 r^2) (1 + cos(4 pi F s)) / 2`, where `s` runs along the wave. The first
    /// term integrates to `1 / (4 a^2)`; the second is half the Fourier transform of that Gaussian
    /// at the frequency `2 F`, which is `exp(-2 pi F^2 / a^2) / (4 a^2)`. Cutting off at envelope
    /// `t` takes the share `t^2` from the first; what it takes from the second is neglected, as the
    /// whole of it is five thousandths of a percent of the first for our kernel.
    pub fn variance(&self) -> f64 {
        let (a, f) = (self.bandwidth_per_px, self.frequency_per_px);
        let a2 = a * a;
        let smooth = 1.0 - self.envelope_floor * self.envelope_floor;
        let energy = (smooth + libm::exp(-TAU * f * f / a2)) / (4.0 * a2);
        let density = self.mean_impulses / (self.canvas_px * self.canvas_px) as f64;
        density * MEAN_SQUARE_WEIGHT * energy
    }

    /// The kernel alone, `pixels` by `pixels` values over a square of `side_px` around its centre.
    pub fn kernel(&self, side_px: f64, pixels: usize) -> Image {
        let (sin, cos) = libm::sincos(self.orientation_rad);
        let offset_px = |index: usize| ((index as f64 + 0.5) / pixels as f64 - 0.5) * side_px;
        let mut image = Image::filled(pixels, pixels, 1, 0.0);
        for (index, value) in image.pixels.iter_mut().enumerate() {
            let (x_px, y_px) = (offset_px(index % pixels), offset_px(index / pixels));
            let scaled = self.bandwidth_per_px * x_px.hypot(y_px);
            let envelope = libm::exp(-PI * scaled * scaled);
            if envelope >= self.envelope_floor {
                let phase = TAU * self.frequency_per_px * (x_px * cos + y_px * sin);
                *value = (envelope * libm::cos(phase)) as f32;
            }
        }
        image
    }

    /// Draws a scene; each instance is an impulse, its bounds the square around the kernel.
    pub(crate) fn draw(&self, rng: &mut SceneRng) -> Scene {
        let impulses = self.impulses(rng);
        let mut image = Image::filled(self.canvas_px, self.canvas_px, 1, 0.0);
        for impulse in &impulses {
            self.add_kernel(&mut image, impulse);
        }
        let gain = (0.5 / (self.deviations * self.variance().sqrt())) as f32;
        for value in &mut image.pixels {
            *value = (0.5 + gain * *value).clamp(0.0, 1.0);
        }
        let side_px = 2.0 * self.kernel_radius_px();
        let instances = impulses.iter().map(|impulse| {
            let (x_px, y_px) = (impulse.x_px as f32, impulse.y_px as f32);
            Instance {
                bounds: square_around(x_px, y_px, side_px as f32),
                label: 0,
                scale: 1.0,
                weight: impulse.weight as f32,
            }
        });
        Scene {
            instances: instances.collect(),
            image,
        }
    }

    /// Poisson impulses cell by cell, as Lagae draws them; at least one.
    fn impulses(&self, rng: &mut SceneRng) -> Vec<Impulse> {
        let side_px = self.canvas_px as f64;
        let cells_per_side = ((side_px / self.kernel_radius_px()) as usize).max(1);
        let cell_px = side_px / cells_per_side as f64;
        let cells = cells_per_side * cells_per_side;
        let mut impulses = Vec::new();
        for cell in 0..cells {
            for _ in 0..rng.poisson(self.mean_impulses / cells as f64) {
                impulses.push(Impulse {
                    x_px: ((cell % cells_per_side) as f64 + rng.unit()) * cell_px,
                    y_px: ((cell / cells_per_side) as f64 + rng.unit()) * cell_px,
                    weight: rng.within(-1.0, 1.0),
                });
            }
        }
        if impulses.is_empty() {
            impulses.push(Impulse {
                x_px: side_px * rng.unit(),
                y_px: side_px * rng.unit(),
                weight: rng.within(-1.0, 1.0),
            });
        }
        impulses
    }

    /// Adds a weighted kernel at pixel centres.
    ///
    /// Both factors of the kernel separate (the cosine by `cos(a + b) = cos a cos b - sin a sin b`),
    /// so that transcendental functions are needed per row and per column only.
    fn add_kernel(&self, image: &mut Image, impulse: &Impulse) {
        let (sin, cos) = libm::sincos(self.orientation_rad);
        let columns = self.axis(impulse.x_px, TAU * self.frequency_per_px * cos);
        let rows = self.axis(impulse.y_px, TAU * self.frequency_per_px * sin);
        let squared_radius = self.kernel_radius_px() * self.kernel_radius_px();
        for (row, &offset_px) in rows.offsets_px.iter().enumerate() {
            let half_chord_px = (squared_radius - offset_px * offset_px).max(0.0).sqrt();
            let chord = columns.within(half_chord_px);
            let weight = impulse.weight as f32;
            let (row_cos, row_sin) = (weight * rows.cos[row], weight * rows.sin[row]);
            let start = image.offset(columns.first + chord.start, rows.first + row, 0);
            let factors = columns.cos[chord.clone()].iter().zip(&columns.sin[chord]);
            for (value, (column_cos, column_sin)) in image.pixels[start..].iter_mut().zip(factors) {
                *value += column_cos * row_cos - column_sin * row_sin;
            }
        }
    }

    /// The kernel's factors at the pixels along one axis.
    fn axis(&self, centre_px: f64, phase_per_px: f64) -> Axis {
        let radius_px = self.kernel_radius_px();
        // A pixel belongs if its centre does.
        let pixel = |edge_px: f64| (edge_px - 0.5).ceil().clamp(0.0, self.canvas_px as f64);
        let first = pixel(centre_px - radius_px) as usize;
        let last = pixel(centre_px + radius_px) as usize;
        let mut axis = Axis {
            first,
            offsets_px: (first..last)
                .map(|pixel| pixel as f64 + 0.5 - centre_px)
                .collect(),
            cos: Vec::with_capacity(last - first),
            sin: Vec::with_capacity(last - first),
        };
        for &offset_px in &axis.offsets_px {
            let scaled = self.bandwidth_per_px * offset_px;
            let envelope = libm::exp(-PI * scaled * scaled);
            let (sin, cos) = libm::sincos(phase_per_px * offset_px);
            axis.cos.push((envelope * cos) as f32);
            axis.sin.push((envelope * sin) as f32);
        }
        axis
    }
}

struct Impulse {
    x_px: f64,
    y_px: f64,
    weight: f64,
}

/// Cosine and sine of the phase along one axis, times the envelope along it, from a first pixel on.
struct Axis {
    first: usize,
    offsets_px: Vec<f64>,
    cos: Vec<f32>,
    sin: Vec<f32>,
}

impl Axis {
    /// The places whose offset from the impulse is at most `reach_px`.
    fn within(&self, reach_px: f64) -> Range<usize> {
        let start = self
            .offsets_px
            .partition_point(|&offset_px| offset_px < -reach_px);
        let end = self
            .offsets_px
            .partition_point(|&offset_px| offset_px <= reach_px);
        start..end.max(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::Split;

    #[test]
    fn one_impulse_renders_the_kernel() {
        let noise = GaborNoise::with_mean_impulses(16.0);
        let impulse = Impulse {
            x_px: 60.3,
            y_px: 20.8,
            weight: -0.7,
        };
        let mut image = Image::filled(128, 128, 1, 0.0);
        noise.add_kernel(&mut image, &impulse);
        for y in 0..128 {
            for x in 0..128 {
                let (dx, dy) = (x as f64 + 0.5 - 60.3, y as f64 + 0.5 - 20.8);
                let envelope = (-PI * 0.0025 * (dx * dx + dy * dy)).exp();
                let wave = (TAU * 0.0625 * (dx + dy) / 2_f64.sqrt()).cos();
                let expected = if envelope < 0.05 {
                    0.0
                } else {
                    -0.7 * envelope * wave
                };
                let value = f64::from(image.pixels[y * 128 + x]);
                assert!(
                    (value - expected).abs() < 1e-6,
                    "{x} {y}: {value} {expected}"
                );
            }
        }
    }

    #[test]
    fn the_kernel_alone_is_what_an_impulse_renders() {
        let noise = GaborNoise::with_mean_impulses(16.0);
        let mut image = Image::filled(128, 128, 1, 0.0);
        let centre = Impulse {
            x_px: 64.0,
            y_px: 64.0,
            weight: 1.0,
        };
        noise.add_kernel(&mut image, &centre);
        let kernel = noise.kernel(128.0, 128);
        for (rendered, alone) in image.pixels.iter().zip(&kernel.pixels) {
            assert!((rendered - alone).abs() < 1e-6);
        }
    }

    #[test]
    fn variance_away_from_the_edges_is_the_analytic_one() {
        for mean in [16.0, 64.0, 256.0] {
            let noise = GaborNoise::with_mean_impulses(mean);
            let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
            for index in 0..1500 {
                let mut rng = SceneRng::new("variance", 0, Split::Train, index);
                let mut image = Image::filled(128, 128, 1, 0.0);
                for impulse in noise.impulses(&mut rng) {
                    noise.add_kernel(&mut image, &impulse);
                }
                for y in (20..108).step_by(8) {
                    for x in (20..108).step_by(8) {
                        let value = f64::from(image.pixels[y * 128 + x]);
                        sum += value;
                        squares += value * value;
                        count += 1.0;
                    }
                }
            }
            let mean_value: f64 = sum / count;
            let ratio = (squares / count - mean_value * mean_value) / noise.variance();
            assert!((ratio - 1.0).abs() < 0.04, "{ratio} at {mean} impulses");
        }
    }

    #[test]
    fn impulses_have_the_right_mean_number_and_lie_inside() {
        let noise = GaborNoise::with_mean_impulses(16.0);
        let mut total = 0;
        for index in 0..2000 {
            let mut rng = SceneRng::new("impulses", 0, Split::Train, index);
            let impulses = noise.impulses(&mut rng);
            total += impulses.len();
            for impulse in impulses {
                assert!((0.0..128.0).contains(&impulse.x_px));
                assert!((0.0..128.0).contains(&impulse.y_px));
                assert!((-1.0..=1.0).contains(&impulse.weight));
            }
        }
        assert!(
            (15.7..16.3).contains(&(f64::from(total as u32) / 2000.0)),
            "{total}"
        );
        let rare = GaborNoise::with_mean_impulses(1e-9);
        let mut rng = SceneRng::new("rare", 0, Split::Train, 0);
        assert_eq!(rare.impulses(&mut rng).len(), 1);
    }

    #[test]
    fn senseless_parameters_are_refused() {
        let right = GaborNoise::with_mean_impulses(16.0);
        assert!(right.validated().is_ok());
        for wrong in [
            GaborNoise {
                canvas_px: 0,
                ..right
            },
            GaborNoise {
                bandwidth_per_px: f64::NAN,
                ..right
            },
            GaborNoise {
                mean_impulses: f64::INFINITY,
                ..right
            },
            GaborNoise {
                envelope_floor: 1.0,
                ..right
            },
            GaborNoise {
                deviations: 0.0,
                ..right
            },
            GaborNoise {
                orientation_rad: f64::INFINITY,
                ..right
            },
        ] {
            assert!(wrong.validated().is_err(), "{wrong:?}");
        }
    }
}
