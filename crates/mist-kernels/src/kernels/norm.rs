//! The per-sample norm over channels and pixels, with what usually follows it.

use super::elementwise::Crop;
use crate::network::Layer;
use crate::simd::{Kernel, Vector};

/// Mean and reciprocal standard deviation of one sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments {
    pub mean: f32,
    pub rate: f32,
}

/// `dst = scale * (src - mean) * rate + shift [+ skip]`, then a rectifier if asked for; keeps the moments.
pub(crate) struct Norm<'a> {
    pub crop: Crop,
    pub samples: usize,
    /// Channels without padding.
    pub real_channels: usize,
    pub src: &'a [f32],
    pub skip: Option<&'a [f32]>,
    pub dst: &'a mut [f32],
    /// Padded with zeros.
    pub scale: &'a [f32],
    pub shift: &'a [f32],
    pub relu: bool,
    pub moments: &'a mut [Moments],
}

impl Kernel for Norm<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let crop = self.crop;
        let (len, row) = (crop.len(), crop.row());
        let values = (crop.height * crop.width * self.real_channels) as f64;
        for sample in 0..self.samples {
            let src = &self.src[sample * len..][..len];
            let (mut sum, mut squares) = (0.0f64, 0.0f64);
            for line in src.chunks_exact(row) {
                unsafe {
                    let (mut row_sum, mut row_squares) = (V::splat(0.0), V::splat(0.0));
                    for at in (0..row).step_by(V::LANES) {
                        let value = V::load(line.as_ptr().add(at));
                        row_sum = row_sum.add(value);
                        row_squares = value.mul_add(value, row_squares);
                    }
                    sum += f64::from(row_sum.sum());
                    squares += f64::from(row_squares.sum());
                }
            }
            let mean = sum / values;
            let variance = (squares / values - mean * mean).max(0.0);
            let moments = Moments {
                mean: mean as f32,
                rate: (1.0 / (variance + Layer::NORM_EPSILON).sqrt()) as f32,
            };
            self.moments[sample] = moments;
            for y in 0..crop.height {
                let line = &src[y * row..][..row];
                let to = &mut self.dst[sample * len + y * row..][..row];
                let skip = match self.skip {
                    Some(skip) => {
                        skip[sample * crop.skip_len() + crop.skip_row(y)..][..row].as_ptr()
                    }
                    None => std::ptr::null(),
                };
                for x in 0..crop.width {
                    for channel in (0..crop.channels).step_by(V::LANES) {
                        let at = x * crop.channels + channel;
                        unsafe {
                            let factor = V::load(self.scale.as_ptr().add(channel))
                                .mul(V::splat(moments.rate));
                            let centred =
                                V::load(line.as_ptr().add(at)).sub(V::splat(moments.mean));
                            let shift = V::load(self.shift.as_ptr().add(channel));
                            let mut value = centred.mul_add(factor, shift);
                            if !skip.is_null() {
                                value = value.add(V::load(skip.add(at)));
                            }
                            if self.relu {
                                value = value.max(V::splat(0.0));
                            }
                            value.store(to.as_mut_ptr().add(at));
                        }
                    }
                }
            }
        }
    }
}

/// The way back: turns the gradient of the norm's output into that of its input, in place, and adds up the
/// gradients of scale and shift.
pub(crate) struct NormGradient<'a> {
    pub crop: Crop,
    pub samples: usize,
    pub real_channels: usize,
    pub src: &'a [f32],
    pub moments: &'a [Moments],
    pub scale: &'a [f32],
    pub gradient: &'a mut [f32],
    pub scale_gradient: &'a mut [f32],
    pub shift_gradient: &'a mut [f32],
}

impl Kernel for NormGradient<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let crop = self.crop;
        let (len, channels) = (crop.len(), crop.channels);
        let values = (crop.height * crop.width * self.real_channels) as f32;
        for sample in 0..self.samples {
            let src = &self.src[sample * len..][..len];
            let gradient = &mut self.gradient[sample * len..][..len];
            let Moments { mean, rate } = self.moments[sample];
            let (mut total, mut total_projected) = (0.0f64, 0.0f64);
            for channel in (0..channels).step_by(V::LANES) {
                unsafe {
                    let (mut sums, mut projected) = (V::splat(0.0), V::splat(0.0));
                    let mut at = channel;
                    while at < len {
                        let g = V::load(gradient.as_ptr().add(at));
                        let centred = V::load(src.as_ptr().add(at)).sub(V::splat(mean));
                        sums = sums.add(g);
                        projected = g.mul_add(centred, projected);
                        at += channels;
                    }
                    let projected = projected.mul(V::splat(rate));
                    let scale = V::load(self.scale.as_ptr().add(channel));
                    total += f64::from(sums.mul(scale).sum());
                    total_projected += f64::from(projected.mul(scale).sum());
                    let to = self.shift_gradient.as_mut_ptr().add(channel);
                    V::load(to).add(sums).store(to);
                    let to = self.scale_gradient.as_mut_ptr().add(channel);
                    V::load(to).add(projected).store(to);
                }
            }
            // Padded channels must stay zero, so the mean terms are only added to real ones.
            let offset = -(total as f32) / values * rate;
            let slope = -(total_projected as f32) / values * rate * rate;
            for channel in (0..channels).step_by(V::LANES) {
                unsafe {
                    let factor = V::load(self.scale.as_ptr().add(channel)).mul(V::splat(rate));
                    let mut real = [0.0f32; 16];
                    let present = self.real_channels.saturating_sub(channel).min(V::LANES);
                    real[..present].fill(1.0);
                    let real = V::load(real.as_ptr());
                    let (offset, slope) = (real.mul(V::splat(offset)), real.mul(V::splat(slope)));
                    let mut at = channel;
                    while at < len {
                        let to = gradient.as_mut_ptr().add(at);
                        let centred = V::load(src.as_ptr().add(at)).sub(V::splat(mean));
                        let value = V::load(to).mul_add(factor, centred.mul_add(slope, offset));
                        value.store(to);
                        at += channels;
                    }
                }
            }
        }
    }
}
