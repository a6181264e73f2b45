//! Max-pools with stride 2.

use super::run::MapSize;
use crate::simd::{Kernel, Vector};

/// `dst` is the maximum of each 2x2 window of `src`.
pub(crate) struct MaxPool<'a> {
    pub src_size: MapSize,
    /// Half of the source's, rounded down.
    pub dst_size: MapSize,
    pub samples: usize,
    /// `samples` maps of `src_size`.
    pub src: &'a [f32],
    /// `samples` maps of `dst_size`.
    pub dst: &'a mut [f32],
}

/// Offsets of a window's four pixels from its first.
#[inline(always)]
fn window(size: MapSize) -> [usize; 4] {
    let row = size.width * size.channels;
    [0, size.channels, row, row + size.channels]
}

impl Kernel for MaxPool<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let (from, to) = (self.src_size, self.dst_size);
        let window = window(from);
        for sample in 0..self.samples {
            for y in 0..to.height {
                for x in 0..to.width {
                    let src = sample * from.len() + (2 * y * from.width + 2 * x) * from.channels;
                    let dst = sample * to.len() + (y * to.width + x) * to.channels;
                    for channel in (0..to.channels).step_by(V::LANES) {
                        // SAFETY: `2 * y + 1` and `2 * x + 1` lie inside the source, as its sides are at least twice
                        // the output's; a register fits, as the lanes divide the channels, which both maps share.
                        unsafe {
                            let at = self.src.as_ptr().add(src + channel);
                            let mut largest = V::load(at);
                            for offset in &window[1..] {
                                largest = largest.max(V::load(at.add(*offset)));
                            }
                            largest.store(self.dst.as_mut_ptr().add(dst + channel));
                        }
                    }
                }
            }
        }
    }
}

/// The gradient of [`MaxPool`]: each window's gradient goes to the first of its largest pixels.
pub(crate) struct MaxPoolGradient<'a> {
    pub src_size: MapSize,
    pub dst_size: MapSize,
    pub samples: usize,
    pub src: &'a [f32],
    pub gradient: &'a [f32],
    pub src_gradient: &'a mut [f32],
}

impl MaxPoolGradient<'_> {
    /// Scalar, as pooling is a small share of any network's time.
    pub fn apply(self) {
        let (from, to) = (self.src_size, self.dst_size);
        let window = window(from);
        self.src_gradient[..self.samples * from.len()].fill(0.0);
        for sample in 0..self.samples {
            for y in 0..to.height {
                for x in 0..to.width {
                    let src = sample * from.len() + (2 * y * from.width + 2 * x) * from.channels;
                    let dst = sample * to.len() + (y * to.width + x) * to.channels;
                    for channel in 0..to.channels {
                        let at = src + channel;
                        let mut best = at;
                        for offset in &window[1..] {
                            if self.src[at + offset] > self.src[best] {
                                best = at + offset;
                            }
                        }
                        self.src_gradient[best] += self.gradient[dst + channel];
                    }
                }
            }
        }
    }
}

/// `dst` is the maximum of each 3x3 window of `src` around every second pixel; what lies beyond the map does not count.
pub(crate) struct MaxPool3<'a> {
    pub src_size: MapSize,
    /// Half of the source's, rounded up.
    pub dst_size: MapSize,
    pub samples: usize,
    /// `samples` maps of `src_size`.
    pub src: &'a [f32],
    /// `samples` maps of `dst_size`.
    pub dst: &'a mut [f32],
}

impl Kernel for MaxPool3<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let (from, to) = (self.src_size, self.dst_size);
        let row = from.width * from.channels;
        for sample in 0..self.samples {
            for y in 0..to.height {
                for x in 0..to.width {
                    let rows = (2 * y).saturating_sub(1)..(2 * y + 2).min(from.height);
                    let (left, right) = ((2 * x).saturating_sub(1), (2 * x + 2).min(from.width));
                    let dst = sample * to.len() + (y * to.width + x) * to.channels;
                    for channel in (0..to.channels).step_by(V::LANES) {
                        // SAFETY: rows and columns were cut to those of the source, and hold at least the pixel at
                        // `2 * y` and `2 * x`; a register fits, as the lanes divide the channels, which both maps share.
                        unsafe {
                            let mut largest = V::splat(f32::NEG_INFINITY);
                            for line in rows.clone() {
                                for column in left..right {
                                    let at = sample * from.len()
                                        + line * row
                                        + column * from.channels
                                        + channel;
                                    largest = V::load(self.src.as_ptr().add(at)).max(largest);
                                }
                            }
                            largest.store(self.dst.as_mut_ptr().add(dst + channel));
                        }
                    }
                }
            }
        }
    }
}
