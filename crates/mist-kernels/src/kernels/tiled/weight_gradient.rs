//! Gradients of weights: products over positions.

use std::marker::PhantomData;

use super::plane::Span;
use super::source::Source;
use super::{POSITIONS, Plane};
use crate::kernels::on_load::OnLoad;
use crate::simd::{Kernel, Vector};
use crate::tiles::{SIDE, TILE_VALUES, Tiles};

/// `weights += src^T * gradient` for every tap, in tiles; see [`gradient_at`](super::gradient_at).
pub(crate) struct TileWeightGradient<'a, T> {
    pub tiles: PhantomData<T>,
    pub plane: Plane,
    pub samples: usize,
    /// `samples` maps of the plane's source.
    pub src: &'a [f32],
    pub on_load: Option<OnLoad<'a>>,
    /// `samples` maps of the plane's outputs.
    pub gradient: &'a [f32],
    /// As [`Plane::gradient_len`].
    pub weights: &'a mut [f32],
    /// As [`Plane::gradient_scratch_len`].
    pub scratch: &'a mut [f32],
}

impl<T: Tiles> Kernel for TileWeightGradient<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let plane = self.plane;
        let (pitch, rows) = (plane.even_pitch(), plane.rows(self.samples));
        let source = Source {
            map: self.src,
            pixels: plane.src,
            samples: self.samples,
            on_load: self.on_load,
            frame: plane.frame,
            pitch,
            period: plane.period(),
        };
        let gradient = Source {
            map: self.gradient,
            pixels: plane.dst,
            on_load: None,
            frame: 0,
            ..source
        };
        let weights = self.weights.as_mut_ptr();
        let (strip, channels) = (plane.gradient_strip_rows(), plane.src.channels());
        // SAFETY: the scratch holds the three `parts` of the longest strip one after the other. The source's rows and the
        // zeros after them are `inputs` positions, the gradient's `outputs`; squares to transpose lie inside, as the lanes
        // divide `inputs / 2` and the channels. Weights are tiles for all taps. The unit is present by this function's
        // contract, and `tiles` is the thread's only value.
        unsafe {
            let mut tiles = T::configure(SIDE);
            for top in (0..rows).step_by(strip) {
                let strip = strip.min(rows - top);
                let span = plane.span(strip);
                let [_, transposed, interleaved] = span.parts();
                let pairs = self.scratch.as_mut_ptr();
                let left = pairs.add(transposed);
                let right = left.add(transposed);
                debug_assert!(2 * transposed + interleaved <= self.scratch.len());
                let filled = strip + plane.kernel - 1;
                write_strip::<V>(&source, top, filled, pairs, [span.inputs, span.in_step]);
                for pair in (0..span.inputs / 2).step_by(V::LANES) {
                    for channel in (0..channels).step_by(V::LANES) {
                        V::transpose(
                            pairs.add(pair * span.in_step + channel),
                            span.in_step,
                            left.add(channel * span.inputs / 2 + pair),
                            span.inputs / 2,
                        );
                    }
                }
                write_strip::<V>(&gradient, top, strip, right, [span.outputs, span.out_step]);
                let products = Products {
                    plane,
                    span,
                    left: left.cast(),
                    right,
                };
                products.add(&mut tiles, weights);
            }
        }
    }
}

/// Writes rows as pairs of positions, zeros up to `positions`.
///
/// # Safety
/// As [`Source::write_pairs`] for `rows` rows; `to` is valid for writes of `positions / 2 * step` values, and `positions`
/// are at least those of the rows.
#[inline(always)]
unsafe fn write_strip<V: Vector>(
    source: &Source<'_>,
    top: usize,
    rows: usize,
    to: *mut f32,
    [positions, step]: [usize; 2],
) {
    let row_pairs = source.pitch / 2;
    // SAFETY: the caller has room for `positions`, which are those of the rows and of the zeros.
    unsafe {
        for row in 0..rows {
            source.write_pairs::<V>(top + row, to.add(row * row_pairs * step), step);
        }
        to.add(rows * row_pairs * step)
            .write_bytes(0, (positions / 2 - rows * row_pairs) * step);
    }
}

/// The factors of a strip.
struct Products {
    plane: Plane,
    span: Span,
    /// `[input][position]` in bf16.
    left: *const u8,
    /// `[pair of positions][output]`.
    right: *const f32,
}

impl Products {
    /// # Safety
    /// The tile unit is present. `left` and `right` are valid for reads of the span, and `weights` for reads and writes of
    /// the plane's gradient.
    #[inline(always)]
    unsafe fn add<T: Tiles>(&self, tiles: &mut T, weights: *mut f32) {
        let plane = self.plane;
        let (in_tiles, out_tiles) = (plane.in_tiles(), plane.out_tiles());
        for tap in 0..plane.kernel * plane.kernel {
            let reach = tap / plane.kernel * plane.even_pitch() + tap % plane.kernel;
            for input in (0..in_tiles).step_by(2) {
                for output in (0..out_tiles).step_by(2) {
                    let corner = (tap * in_tiles + input) * out_tiles + output;
                    let (tall, wide) = (input + 1 < in_tiles, output + 1 < out_tiles);
                    // SAFETY: `input` and `output` are tiles of the span and `corner` is one of the gradient; there is a
                    // second one where `tall` or `wide` say so. The span's inputs exceed its outputs by the largest
                    // `reach`.
                    unsafe {
                        let left = input * SIDE * self.span.inputs + reach;
                        let left = self.left.add(2 * left);
                        let right = self.right.add(output * SIDE);
                        let sums = weights.add(corner * TILE_VALUES);
                        self.block(tiles, left, right, sums, tall, wide);
                    }
                }
            }
        }
    }

    /// # Safety
    /// The tile unit is present. `left` is valid for reads of one tile of inputs, or two if `tall`, `right` of one tile of
    /// outputs, or two if `wide`, each for the span's outputs; `sums` is valid for reads and writes of their products.
    #[inline(always)]
    unsafe fn block<T: Tiles>(
        &self,
        tiles: &mut T,
        left: *const u8,
        right: *const f32,
        sums: *mut f32,
        tall: bool,
        wide: bool,
    ) {
        let (left_stride, right_step) = (2 * self.span.inputs, self.span.out_step);
        let row = self.plane.out_tiles() * TILE_VALUES;
        let stride = 4 * SIDE;
        // SAFETY: the second tiles are touched only if `tall` or `wide`; positions are below the span's outputs.
        unsafe {
            tiles.load::<0>(sums.cast(), stride);
            if wide {
                tiles.load::<1>(sums.add(TILE_VALUES).cast(), stride);
            }
            if tall {
                tiles.load::<2>(sums.add(row).cast(), stride);
                if wide {
                    tiles.load::<3>(sums.add(row + TILE_VALUES).cast(), stride);
                }
            }
            for first in (0..self.span.outputs).step_by(POSITIONS) {
                let left = left.add(2 * first);
                let right = right.add(first / 2 * right_step);
                tiles.load::<4>(left, left_stride);
                tiles.load::<6>(right.cast(), 4 * right_step);
                tiles.dot::<0, 4, 6>();
                if tall {
                    tiles.load::<5>(left.add(SIDE * left_stride), left_stride);
                    tiles.dot::<2, 5, 6>();
                }
                if wide {
                    tiles.load::<7>(right.add(SIDE).cast(), 4 * right_step);
                    tiles.dot::<1, 4, 7>();
                    if tall {
                        tiles.dot::<3, 5, 7>();
                    }
                }
            }
            tiles.store::<0>(sums.cast(), stride);
            if wide {
                tiles.store::<1>(sums.add(TILE_VALUES).cast(), stride);
            }
            if tall {
                tiles.store::<2>(sums.add(row).cast(), stride);
                if wide {
                    tiles.store::<3>(sums.add(row + TILE_VALUES).cast(), stride);
                }
            }
        }
    }
}
