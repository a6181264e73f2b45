//! 2x2 max-pool with stride 2.

use super::run::Side;
use crate::simd::{Kernel, Vector};

/// `dst` is the maximum of each 2x2 window of `src`.
pub(crate) struct MaxPool<'a> {
    pub src_side: Side,
    /// Half of the source's, rounded down.
    pub dst_side: Side,
    pub samples: usize,
    /// `samples` maps of `src_side`.
    pub src: &'a [f32],
    /// `samples` maps of `dst_side`.
    pub dst: &'a mut [f32],
}

/// Offsets of a window's four pixels from its first.
#[inline(always)]
fn window(side: Side) -> [usize; 4] {
    let row = side.width * side.channels;
    [0, side.channels, row, row + side.channels]
}

impl Kernel for MaxPool<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let (from, to) = (self.src_side, self.dst_side);
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

/// The way back: each window's gradient goes to its first largest pixel.
pub(crate) struct MaxPoolGradient<'a> {
    pub src_side: Side,
    pub dst_side: Side,
    pub samples: usize,
    pub src: &'a [f32],
    pub gradient: &'a [f32],
    pub src_gradient: &'a mut [f32],
}

impl MaxPoolGradient<'_> {
    /// Scalar: pooling is a small share of any network.
    pub fn apply(self) {
        let (from, to) = (self.src_side, self.dst_side);
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
