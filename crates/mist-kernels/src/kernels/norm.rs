//! The per-sample norm over channels and pixels, fused with a residual sum and a ReLU.

use super::elementwise::Crop;
use crate::network::Layer;
use crate::simd::{Kernel, Vector};

/// Mean and reciprocal standard deviation of one sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments {
    pub mean: f32,
    pub inv_std: f32,
}

/// Computes the moments of each sample.
pub(crate) struct SampleMoments<'a> {
    pub crop: Crop,
    /// Channels without padding.
    pub real_channels: usize,
    pub src: &'a [f32],
    pub moments: &'a mut [Moments],
}

impl Kernel for SampleMoments<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let (len, row) = (self.crop.len(), self.crop.row());
        let values = (self.crop.height * self.crop.width * self.real_channels) as f64;
        for (src, found) in self.src.chunks_exact(len).zip(self.moments) {
            // SAFETY: a sample is whole rows, and the lanes divide a row as they divide the channels.
            *found = unsafe { moments::<V>(src, row, values) };
        }
    }
}

/// Writes the norm as `value * factor + offset`: per sample all factors, then all offsets.
pub(crate) fn affine_form(
    moments: &[Moments],
    scale: &[f32],
    shift: &[f32],
    affine: &mut Vec<f32>,
) {
    affine.clear();
    for Moments { mean, inv_std } in moments {
        affine.extend(scale.iter().map(|scale| scale * inv_std));
        affine.extend(
            scale
                .iter()
                .zip(shift)
                .map(|(scale, shift)| shift - mean * (scale * inv_std)),
        );
    }
}

/// `dst = src * factor + offset [+ skip]`, then a ReLU if `relu`.
pub(crate) struct ApplyNorm<'a> {
    pub crop: Crop,
    pub samples: usize,
    pub src: &'a [f32],
    pub skip: Option<&'a [f32]>,
    pub dst: &'a mut [f32],
    /// See [`affine_form`].
    pub affine: &'a [f32],
    pub relu: bool,
}

impl Kernel for ApplyNorm<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let crop = self.crop;
        let (len, row, channels) = (crop.len(), crop.row(), crop.channels);
        for sample in 0..self.samples {
            let affine = self.affine[sample * 2 * channels..][..2 * channels].as_ptr();
            for y in 0..crop.height {
                let line = self.src[sample * len + y * row..][..row].as_ptr();
                let to = self.dst[sample * len + y * row..][..row].as_mut_ptr();
                let skip = match self.skip {
                    Some(skip) => {
                        skip[sample * crop.skip_len() + crop.skip_row(y)..][..row].as_ptr()
                    }
                    None => std::ptr::null(),
                };
                for channel in (0..channels).step_by(V::LANES) {
                    // SAFETY: `line`, `to` and `skip`, unless null, point to `row` values and `affine` to twice the
                    // channels. `at` is `channel` plus whole pixels and below `row`, so that a register fits, as the
                    // lanes divide the channels.
                    unsafe {
                        let factor = V::load(affine.add(channel));
                        let offset = V::load(affine.add(channels + channel));
                        let floor = V::splat(if self.relu { 0.0 } else { f32::NEG_INFINITY });
                        let mut at = channel;
                        while at < row {
                            let mut value = V::load(line.add(at)).mul_add(factor, offset);
                            if !skip.is_null() {
                                value = value.add(V::load(skip.add(at)));
                            }
                            value.max(floor).store(to.add(at));
                            at += channels;
                        }
                    }
                }
            }
        }
    }
}

/// Moments of one sample: vector sums by row, rows added up in f64.
///
/// # Safety
/// The vector's instruction set is present, and its lanes divide `row`.
#[inline(always)]
unsafe fn moments<V: Vector>(src: &[f32], row: usize, values: f64) -> Moments {
    let (mut sum, mut squares) = (0.0f64, 0.0f64);
    for line in src.chunks_exact(row) {
        // SAFETY: the line holds `row` values; registers start at multiples of the lanes and end within it.
        unsafe {
            // Four chains hide the latency of additions.
            let mut sums = [V::splat(0.0); 4];
            let mut row_squares = [V::splat(0.0); 4];
            let mut at = 0;
            while at + 4 * V::LANES <= row {
                for (chain, (sum, squares)) in sums.iter_mut().zip(&mut row_squares).enumerate() {
                    let value = V::load(line.as_ptr().add(at + chain * V::LANES));
                    *sum = sum.add(value);
                    *squares = value.mul_add(value, *squares);
                }
                at += 4 * V::LANES;
            }
            while at < row {
                let value = V::load(line.as_ptr().add(at));
                sums[0] = sums[0].add(value);
                row_squares[0] = value.mul_add(value, row_squares[0]);
                at += V::LANES;
            }
            sum += f64::from(total(sums));
            squares += f64::from(total(row_squares));
        }
    }
    let mean = sum / values;
    let variance = (squares / values - mean * mean).max(0.0);
    Moments {
        mean: mean as f32,
        inv_std: (1.0 / (variance + Layer::NORM_EPSILON).sqrt()) as f32,
    }
}

/// # Safety
/// The vector's instruction set is present.
#[inline(always)]
unsafe fn total<V: Vector>(chains: [V; 4]) -> f32 {
    // SAFETY: the instruction set is present; no pointer is involved.
    unsafe { chains[0].add(chains[1]).add(chains[2].add(chains[3])).sum() }
}

/// The ReLU after a norm.
#[derive(Clone, Copy)]
pub(crate) enum Relu<'a> {
    /// There is none.
    Absent,
    /// Its output was kept.
    Output(&'a [f32]),
    /// Its output was not kept: the norm's value is computed again.
    Recomputed,
}

/// The gradient of [`ApplyNorm`]: replaces the gradient of the output by that of the input, adds to those of scale and
/// shift, and writes that of the skipped map.
pub(crate) struct NormGradient<'a> {
    pub crop: Crop,
    pub samples: usize,
    /// Channels without padding.
    pub real_channels: usize,
    pub src: &'a [f32],
    /// One per sample.
    pub moments: &'a [Moments],
    /// One per padded channel.
    pub scale: &'a [f32],
    /// See [`affine_form`].
    pub affine: &'a [f32],
    pub gradient: &'a mut [f32],
    pub relu: Relu<'a>,
    /// Gradient of the skipped map, overwritten.
    pub skip_gradient: Option<&'a mut [f32]>,
    /// One per padded channel, added to.
    pub scale_gradient: &'a mut [f32],
    /// One per padded channel, added to.
    pub shift_gradient: &'a mut [f32],
}

impl Kernel for NormGradient<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(mut self) {
        let crop = self.crop;
        let (len, row, channels) = (crop.len(), crop.row(), crop.channels);
        let values = (crop.height * crop.width * self.real_channels) as f32;
        let scale = self.scale[..channels].as_ptr();
        let scale_gradient = self.scale_gradient[..channels].as_mut_ptr();
        let shift_gradient = self.shift_gradient[..channels].as_mut_ptr();
        for sample in 0..self.samples {
            let src = self.src[sample * len..][..len].as_ptr();
            let gradient = self.gradient[sample * len..][..len].as_mut_ptr();
            let rectified = match self.relu {
                Relu::Output(map) => map[sample * len..][..len].as_ptr(),
                Relu::Absent | Relu::Recomputed => std::ptr::null(),
            };
            let recomputed = matches!(self.relu, Relu::Recomputed);
            let affine = self.affine[sample * 2 * channels..][..2 * channels].as_ptr();
            let Moments { mean, inv_std } = self.moments[sample];
            let (mut total, mut total_projected) = (0.0f64, 0.0f64);
            for channel in (0..channels).step_by(V::LANES) {
                // SAFETY: `src`, `gradient` and `rectified`, unless null, point to `len` values; `affine` points to twice
                // the channels; scale and sums hold one value per channel. `at` is `channel` plus whole pixels and below
                // `len`, so that a register fits, as the lanes divide the channels.
                unsafe {
                    let zero = V::splat(0.0);
                    let gate_factor = V::load(affine.add(channel));
                    let gate_offset = V::load(affine.add(channels + channel));
                    let (mut sums, mut projected) = ([zero; 2], [zero; 2]);
                    let mut at = channel;
                    let mut chain = 0;
                    while at < len {
                        let mut g = V::load(gradient.add(at));
                        let value = V::load(src.add(at));
                        if !rectified.is_null() {
                            g = g.where_positive(V::load(rectified.add(at)));
                        } else if recomputed {
                            g = g.where_positive(value.mul_add(gate_factor, gate_offset));
                        }
                        let centred = value.sub(V::splat(mean));
                        sums[chain] = sums[chain].add(g);
                        projected[chain] = g.mul_add(centred, projected[chain]);
                        chain ^= 1;
                        at += channels;
                    }
                    let sums = sums[0].add(sums[1]);
                    let projected = projected[0].add(projected[1]).mul(V::splat(inv_std));
                    let scale = V::load(scale.add(channel));
                    total += f64::from(sums.mul(scale).sum());
                    total_projected += f64::from(projected.mul(scale).sum());
                    let to = shift_gradient.add(channel);
                    V::load(to).add(sums).store(to);
                    let to = scale_gradient.add(channel);
                    V::load(to).add(projected).store(to);
                }
            }
            let offset = -(total as f32) / values * inv_std;
            let slope = -(total_projected as f32) / values * inv_std * inv_std;
            let skip = match &mut self.skip_gradient {
                Some(map) => {
                    let map = &mut map[sample * crop.skip_len()..][..crop.skip_len()];
                    crop.clear_frame(map);
                    map[crop.skip_row(0)..].as_mut_ptr()
                }
                None => std::ptr::null_mut(),
            };
            let skip_pitch = crop.skip_row(1) - crop.skip_row(0);
            for channel in (0..channels).step_by(V::LANES) {
                // SAFETY: as above, with `line + at` in the place of `at`. `skip`, unless null, points to the first of
                // `height` rows inside the frame, `skip_pitch` apart and `row` values long each. `real` holds as many
                // values as the widest register has lanes.
                unsafe {
                    // Padded channels must stay zero, so the mean terms are only added to real ones.
                    let mut real = [0.0f32; 16];
                    let present = self.real_channels.saturating_sub(channel).min(V::LANES);
                    real[..present].fill(1.0);
                    let real = V::load(real.as_ptr());
                    let factor = V::load(affine.add(channel));
                    let gate_offset = V::load(affine.add(channels + channel));
                    let (offset, slope) = (real.mul(V::splat(offset)), real.mul(V::splat(slope)));
                    for y in 0..crop.height {
                        let line = y * row;
                        let mut at = channel;
                        while at < row {
                            let to = gradient.add(line + at);
                            let mut g = V::load(to);
                            let value = V::load(src.add(line + at));
                            if !rectified.is_null() {
                                g = g.where_positive(V::load(rectified.add(line + at)));
                            } else if recomputed {
                                g = g.where_positive(value.mul_add(factor, gate_offset));
                            }
                            if !skip.is_null() {
                                g.store(skip.add(y * skip_pitch + at));
                            }
                            let centred = value.sub(V::splat(mean));
                            g.mul_add(factor, centred.mul_add(slope, offset)).store(to);
                            at += channels;
                        }
                    }
                }
            }
        }
    }
}
