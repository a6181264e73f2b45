//! Steps that take too small a share of any network's time to be vectorised.

use super::program::Value;
use super::stem::mirrored;
use crate::kernels::run::MapSize;

/// Mean over the pixels of each sample.
pub(super) fn mean(src: &[f32], dst: &mut [f32], channels: usize) {
    let samples = dst.len() / channels;
    let sample_len = src.len() / samples;
    let pixels = (sample_len / channels) as f32;
    for (from, to) in src
        .chunks_exact(sample_len)
        .zip(dst.chunks_exact_mut(channels))
    {
        to.fill(0.0);
        for pixel in from.chunks_exact(channels) {
            for (sum, value) in to.iter_mut().zip(pixel) {
                *sum += value;
            }
        }
        for sum in to {
            *sum /= pixels;
        }
    }
}

/// The gradient of [`mean`].
pub(super) fn mean_gradient(gradient: &[f32], to: &mut [f32], channels: usize) {
    let samples = gradient.len() / channels;
    let sample_len = to.len() / samples;
    let share = channels as f32 / sample_len as f32;
    for (from, to) in gradient
        .chunks_exact(channels)
        .zip(to.chunks_exact_mut(sample_len))
    {
        for pixel in to.chunks_exact_mut(channels) {
            for (to, value) in pixel.iter_mut().zip(from) {
                *to = value * share;
            }
        }
    }
}

/// Logistic function; padded channels stay zero.
pub(super) fn sigmoid(src: &[f32], dst: &mut [f32], value: Value) {
    let step = value.size.channels;
    for (from, to) in src.chunks_exact(step).zip(dst.chunks_exact_mut(step)) {
        to.fill(0.0);
        for (to, value) in to[..value.channels].iter_mut().zip(from) {
            *to = 1.0 / (1.0 + (-value).exp());
        }
    }
}

/// The gradient of [`sigmoid`], in place, from its output.
pub(super) fn sigmoid_gradient(output: &[f32], gradient: &mut [f32]) {
    for (gradient, y) in gradient.iter_mut().zip(output) {
        *gradient *= y * (1.0 - y);
    }
}

/// `ln(1 + exp(x))`; padded channels stay zero.
pub(super) fn softplus(src: &[f32], dst: &mut [f32], value: Value) {
    let step = value.size.channels;
    for (from, to) in src.chunks_exact(step).zip(dst.chunks_exact_mut(step)) {
        to.fill(0.0);
        for (to, value) in to[..value.channels].iter_mut().zip(from) {
            *to = value.max(0.0) + (-value.abs()).exp().ln_1p();
        }
    }
}

/// The gradient of [`softplus`], in place, from its output.
pub(super) fn softplus_gradient(output: &[f32], gradient: &mut [f32]) {
    for (gradient, y) in gradient.iter_mut().zip(output) {
        *gradient *= -(-y).exp_m1();
    }
}

/// Softmax over the channels of each pixel; padded channels stay zero.
pub(super) fn softmax(src: &[f32], dst: &mut [f32], value: Value) {
    let (step, channels) = (value.size.channels, value.channels);
    for (from, to) in src.chunks_exact(step).zip(dst.chunks_exact_mut(step)) {
        let largest = from[..channels]
            .iter()
            .copied()
            .fold(f32::NEG_INFINITY, f32::max);
        to.fill(0.0);
        let mut total = 0.0;
        for (to, value) in to[..channels].iter_mut().zip(from) {
            *to = (value - largest).exp();
            total += *to;
        }
        for to in to {
            *to /= total;
        }
    }
}

/// The gradient of [`softmax`], in place, from its output.
pub(super) fn softmax_gradient(output: &[f32], gradient: &mut [f32], value: Value) {
    let step = value.size.channels;
    for (gradient, y) in gradient
        .chunks_exact_mut(step)
        .zip(output.chunks_exact(step))
    {
        let mean: f32 = gradient.iter().zip(y).map(|(g, y)| g * y).sum();
        for (gradient, y) in gradient.iter_mut().zip(y) {
            *gradient = y * (*gradient - mean);
        }
    }
}

/// Mirrors `px` pixels at each side.
pub(super) fn reflect_pad(src: &[f32], dst: &mut [f32], size: MapSize, px: usize) {
    for_each_mirrored(size, px, src.len() / size.len(), |inner, outer| {
        dst[outer..][..size.channels].copy_from_slice(&src[inner..][..size.channels]);
    });
}

/// The gradient of [`reflect_pad`].
pub(super) fn reflect_pad_gradient(gradient: &[f32], to: &mut [f32], size: MapSize, px: usize) {
    to.fill(0.0);
    for_each_mirrored(size, px, to.len() / size.len(), |inner, outer| {
        for channel in 0..size.channels {
            to[inner + channel] += gradient[outer + channel];
        }
    });
}

/// Calls `visit(offset of the inner pixel, offset of the outer pixel)` for each outer pixel.
fn for_each_mirrored(
    size: MapSize,
    px: usize,
    samples: usize,
    mut visit: impl FnMut(usize, usize),
) {
    let rows = mirrored(&(0..size.height).collect::<Vec<_>>(), px);
    let columns = mirrored(&(0..size.width).collect::<Vec<_>>(), px);
    let mut outer = 0;
    for sample in 0..samples {
        for row in &rows {
            for column in &columns {
                let inner = (row * size.width + column) * size.channels;
                visit(sample * size.len() + inner, outer);
                outer += size.channels;
            }
        }
    }
}
