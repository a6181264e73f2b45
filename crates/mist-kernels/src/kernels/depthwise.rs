//! Depthwise convolution: each channel with a kernel of its own.

use super::run::{RunPlan, Tap};
use crate::network::Activation;
use crate::simd::{Kernel, Vector};

/// Most taps of a kernel.
pub(crate) const MOST_TAPS: usize = 9;

/// `dst = src * weights + bias` per channel, along the runs of a plan.
pub(crate) struct DepthwiseConvolution<'a> {
    /// Made for the two maps, which share their channels, with at most [`MOST_TAPS`] taps.
    pub plan: &'a RunPlan,
    pub samples: usize,
    /// `samples` maps of `src_sample` values.
    pub src: &'a [f32],
    pub src_sample: usize,
    /// `samples` maps of `dst_sample` values.
    pub dst: &'a mut [f32],
    pub dst_sample: usize,
    /// `[slab][channel]`, padded, for every slab of the plan.
    pub weights: &'a [f32],
    /// With padding.
    pub channels: usize,
    /// One value per padded channel.
    pub bias: &'a [f32],
    pub activation: Activation,
}

impl Kernel for DepthwiseConvolution<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let (src, dst) = (self.src.as_ptr(), self.dst.as_mut_ptr());
        for (run, taps) in self
            .plan
            .over(self.samples, self.src_sample, self.dst_sample)
        {
            let taps: &[Tap] = &taps[..taps.len().min(MOST_TAPS)];
            for channel in (0..self.channels).step_by(V::LANES) {
                // SAFETY: the plan's runs and taps name pixels inside the two maps only. Registers end with the padded
                // channels, a multiple of the lanes; weights hold a row of them for each slab, and so does the bias.
                unsafe {
                    let mut weights = [V::splat(0.0); MOST_TAPS];
                    for (weight, tap) in weights.iter_mut().zip(taps) {
                        let at = tap.slab * self.channels + channel;
                        *weight = V::load(self.weights.as_ptr().add(at));
                    }
                    let bias = V::load(self.bias.as_ptr().add(channel));
                    let mut from = src.wrapping_offset(run.src).wrapping_add(channel);
                    let mut to = dst.wrapping_add(run.dst + channel);
                    for _ in 0..run.len {
                        let mut sum = bias;
                        for (weight, tap) in weights.iter().zip(taps) {
                            let value = V::load(from.wrapping_offset(tap.src));
                            sum = value.mul_add(*weight, sum);
                        }
                        self.activation.apply(sum).store(to);
                        from = from.wrapping_add(run.src_step);
                        to = to.wrapping_add(run.dst_step);
                    }
                }
            }
        }
    }
}

impl Activation {
    /// The activation of a register.
    ///
    /// # Safety
    /// As the methods of [`Vector`].
    #[inline(always)]
    pub(crate) unsafe fn apply<V: Vector>(self, value: V) -> V {
        // SAFETY: the caller's promise is that of `Vector`.
        unsafe {
            match self {
                Self::None => value,
                Self::Relu => value.max(V::splat(0.0)),
                Self::Relu6 => value.max(V::splat(0.0)).min(V::splat(6.0)),
            }
        }
    }
}
