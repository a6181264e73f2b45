//! Convolution by multiplying rows of pixels with slabs of weights.

use super::run::{RunPlan, Tap};
use crate::network::Activation;
use crate::simd::{Kernel, Vector};

/// `dst = src * weights + bias` along the runs of a plan.
pub(crate) struct DirectConvolution<'a> {
    /// Made for the two maps.
    pub plan: &'a RunPlan,
    pub samples: usize,
    /// `samples` maps of `src_sample` values.
    pub src: &'a [f32],
    pub src_sample: usize,
    /// `samples` maps of `dst_sample` values.
    pub dst: &'a mut [f32],
    pub dst_sample: usize,
    /// `[slab][in][out]`, outputs padded, for every slab of the plan.
    pub weights: &'a [f32],
    /// Without padding.
    pub in_channels: usize,
    /// With padding.
    pub out_channels: usize,
    /// One value per padded output; nothing means zero.
    pub bias: Option<&'a [f32]>,
    pub activation: Activation,
    /// Adds to `dst` instead of overwriting it.
    pub accumulate: bool,
}

impl Kernel for DirectConvolution<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let slab_len = self.in_channels * self.out_channels;
        let (src, dst) = (self.src.as_ptr(), self.dst.as_mut_ptr());
        for (run, taps) in self
            .plan
            .over(self.samples, self.src_sample, self.dst_sample)
        {
            let mut out = 0;
            while out < self.out_channels {
                let rows = Rows {
                    taps,
                    slab_len,
                    weights: self.weights.as_ptr().wrapping_add(out),
                    weight_step: self.out_channels,
                    in_channels: self.in_channels,
                    src_step: run.src_step,
                    dst_step: run.dst_step,
                    bias: self.bias.map(|bias| bias.as_ptr().wrapping_add(out)),
                    activation: self.activation,
                    accumulate: self.accumulate,
                };
                let from = src.wrapping_offset(run.src);
                let to = dst.wrapping_add(run.dst + out);
                // SAFETY: the plan's runs and taps name pixels inside the two maps only. The registers of outputs
                // end with the padded channels, whose number is a multiple of the lanes.
                unsafe {
                    if self.out_channels - out >= 2 * V::LANES {
                        rows.all::<V, 2>(from, to, run.len);
                        out += 2 * V::LANES;
                    } else {
                        rows.all::<V, 1>(from, to, run.len);
                        out += V::LANES;
                    }
                }
            }
        }
    }
}

/// A product of equally spaced rows with weights, `N` registers of outputs wide.
pub(super) struct Rows<'a> {
    pub taps: &'a [Tap],
    pub slab_len: usize,
    pub weights: *const f32,
    /// Values between the weights of two inputs.
    pub weight_step: usize,
    pub in_channels: usize,
    pub src_step: usize,
    pub dst_step: usize,
    pub bias: Option<*const f32>,
    pub activation: Activation,
    pub accumulate: bool,
}

impl Rows<'_> {
    /// Multiplies `len` rows.
    ///
    /// # Safety
    /// The vector's instruction set is present. At each of `len` pixels, which are `src_step` and `dst_step` values
    /// apart, every tap of `src` is valid for reads of `in_channels` values and `dst` is valid for reads and writes of
    /// `N` registers. `bias` is valid for reads of `N` registers, and so is `weights` for each tap and input.
    #[inline(always)]
    pub unsafe fn all<V: Vector, const N: usize>(
        &self,
        mut src: *const f32,
        mut dst: *mut f32,
        mut len: usize,
    ) {
        macro_rules! chunks {
            ($($rows:literal)*) => {$(
                while V::MAX_ROWS >= $rows && len >= $rows {
                    // SAFETY: at least `$rows` of the caller's pixels are left from here on.
                    unsafe { self.some::<V, N, $rows>(src, dst) };
                    src = src.wrapping_add($rows * self.src_step);
                    dst = dst.wrapping_add($rows * self.dst_step);
                    len -= $rows;
                }
            )*};
        }
        chunks!(12 8 6 4 2 1);
    }

    /// Multiplies `R` rows.
    ///
    /// # Safety
    /// As [`Rows::all`] with `len` = `R`.
    #[inline(always)]
    unsafe fn some<V: Vector, const N: usize, const R: usize>(
        &self,
        src: *const f32,
        dst: *mut f32,
    ) {
        // SAFETY: rows are below `R`, registers below `N`, channels below `in_channels` and taps are the caller's, so
        // that every access is one that the caller has promised.
        unsafe {
            let mut sums = [[V::splat(0.0); N]; R];
            for (row, sums) in sums.iter_mut().enumerate() {
                for (n, sum) in sums.iter_mut().enumerate() {
                    if let Some(bias) = self.bias {
                        *sum = V::load(bias.add(n * V::LANES));
                    }
                    if self.accumulate {
                        *sum = V::load(dst.add(row * self.dst_step + n * V::LANES)).add(*sum);
                    }
                }
            }
            for tap in self.taps {
                let pixels = src.wrapping_offset(tap.src);
                let slab = self.weights.add(tap.slab * self.slab_len);
                for channel in 0..self.in_channels {
                    let at = slab.add(channel * self.weight_step);
                    let mut weights = [V::splat(0.0); N];
                    for (n, weight) in weights.iter_mut().enumerate() {
                        *weight = V::load(at.add(n * V::LANES));
                    }
                    for (row, sums) in sums.iter_mut().enumerate() {
                        let value = V::splat(*pixels.add(row * self.src_step + channel));
                        for (sum, weight) in sums.iter_mut().zip(weights) {
                            *sum = value.mul_add(weight, *sum);
                        }
                    }
                }
            }
            for (row, sums) in sums.iter().enumerate() {
                for (n, sum) in sums.iter().enumerate() {
                    let value = self.activation.apply(*sum);
                    value.store(dst.add(row * self.dst_step + n * V::LANES));
                }
            }
        }
    }
}
