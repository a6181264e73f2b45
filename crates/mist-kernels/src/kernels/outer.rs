//! Gradients of weights: sums of outer products of pixels.

use super::run::RunPlan;
use crate::simd::{Kernel, Vector};

/// `weights[slab][in][out] += sum over pixels of src[in] * gradient[out]`, along the runs of the forward plan.
pub(crate) struct WeightGradient<'a> {
    /// Made for the two maps.
    pub plan: &'a RunPlan,
    pub samples: usize,
    /// `samples` maps of `src_sample` values.
    pub src: &'a [f32],
    pub src_sample: usize,
    /// `samples` maps of `gradient_sample` values.
    pub gradient: &'a [f32],
    pub gradient_sample: usize,
    /// `[slab][in][out]`, outputs padded, for every slab of the plan.
    pub weights: &'a mut [f32],
    /// Without padding.
    pub in_channels: usize,
    /// With padding.
    pub out_channels: usize,
}

impl Kernel for WeightGradient<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let slab_len = self.in_channels * self.out_channels;
        let (src, gradient) = (self.src.as_ptr(), self.gradient.as_ptr());
        let weights = self.weights.as_mut_ptr();
        for (run, taps) in self
            .plan
            .over(self.samples, self.src_sample, self.gradient_sample)
        {
            for tap in taps {
                let products = Products {
                    src: src.wrapping_offset(run.src + tap.src),
                    src_step: run.src_step,
                    gradient: gradient.wrapping_add(run.dst),
                    gradient_step: run.dst_step,
                    weights: weights.wrapping_add(tap.slab * slab_len),
                    in_channels: self.in_channels,
                    out_channels: self.out_channels,
                    pixels: run.len,
                };
                // SAFETY: the plan's runs and taps name pixels inside the two maps only, and slabs of the weights.
                unsafe { products.add::<V>() };
            }
        }
    }
}

/// Outer products of equally spaced pixels, summed into one `[in][out]` slab.
pub(super) struct Products {
    pub src: *const f32,
    pub src_step: usize,
    pub gradient: *const f32,
    pub gradient_step: usize,
    pub weights: *mut f32,
    pub in_channels: usize,
    pub out_channels: usize,
    pub pixels: usize,
}

impl Products {
    /// Adds the products of all pixels.
    ///
    /// # Safety
    /// The vector's instruction set is present and its lanes divide `out_channels`. At each of `pixels`, which are
    /// `src_step` and `gradient_step` values apart, `src` is valid for reads of `in_channels` values and `gradient` of
    /// `out_channels`. `weights` is valid for reads and writes of `in_channels * out_channels` values.
    #[inline(always)]
    pub unsafe fn add<V: Vector>(&self) {
        let mut out = 0;
        while out < self.out_channels {
            // SAFETY: two registers, or else one, of outputs are left from `out` on.
            unsafe {
                if self.out_channels - out >= 2 * V::LANES {
                    self.columns::<V, 2>(out);
                    out += 2 * V::LANES;
                } else {
                    self.columns::<V, 1>(out);
                    out += V::LANES;
                }
            }
        }
    }

    /// # Safety
    /// As [`Products::add`], and `N` registers of outputs are left from `out` on.
    #[inline(always)]
    unsafe fn columns<V: Vector, const N: usize>(&self, out: usize) {
        let mut channel = 0;
        macro_rules! chunks {
            ($($rows:literal)*) => {$(
                while V::MAX_ROWS >= $rows && self.in_channels - channel >= $rows {
                    // SAFETY: `$rows` inputs are left from `channel` on, and `N` registers of outputs from `out` on.
                    unsafe { self.tile::<V, N, $rows>(channel, out) };
                    channel += $rows;
                }
            )*};
        }
        chunks!(12 8 6 4 2 1);
    }

    /// # Safety
    /// As [`Products::columns`], and `R` inputs are left from `channel` on.
    #[inline(always)]
    unsafe fn tile<V: Vector, const N: usize, const R: usize>(&self, channel: usize, out: usize) {
        // SAFETY: the reads are at inputs `channel..channel + R` and outputs `out..out + N * LANES` of the caller's pixels,
        // the writes at the same inputs and outputs of the slab.
        unsafe {
            let corner = self.weights.add(channel * self.out_channels + out);
            let mut sums = [[V::splat(0.0); N]; R];
            let (mut src, mut gradient) = (self.src.add(channel), self.gradient.add(out));
            for _ in 0..self.pixels {
                let mut outputs = [V::splat(0.0); N];
                for (n, output) in outputs.iter_mut().enumerate() {
                    *output = V::load(gradient.add(n * V::LANES));
                }
                for (row, sums) in sums.iter_mut().enumerate() {
                    let value = V::splat(*src.add(row));
                    for (sum, output) in sums.iter_mut().zip(outputs) {
                        *sum = value.mul_add(output, *sum);
                    }
                }
                src = src.wrapping_add(self.src_step);
                gradient = gradient.wrapping_add(self.gradient_step);
            }
            for (row, sums) in sums.iter().enumerate() {
                for (n, sum) in sums.iter().enumerate() {
                    let at = corner.add(row * self.out_channels + n * V::LANES);
                    V::load(at).add(*sum).store(at);
                }
            }
        }
    }
}
