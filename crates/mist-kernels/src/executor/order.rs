//! Maps as `[channel][pixel]`, which callers know, and as `[pixel][channel]`, which kernels read.

/// Pixels that are moved together: their cache lines stay until all channels are done.
const PIXELS: usize = 16;

/// Writes `[channel][pixel]` planes of `area` pixels as pixels of `step` values each; padded channels stay as they are.
pub(super) fn to_pixels(planes: &[f32], area: usize, step: usize, pixels: &mut [f32]) {
    for (first, pixels) in (0..area)
        .step_by(PIXELS)
        .zip(pixels.chunks_mut(PIXELS * step))
    {
        for (channel, plane) in planes.chunks_exact(area).enumerate() {
            let values = plane[first..].iter();
            let to = pixels[channel..].iter_mut().step_by(step);
            for (to, value) in to.zip(values) {
                *to = *value;
            }
        }
    }
}

/// The way back of [`to_pixels`].
pub(super) fn to_planes(pixels: &[f32], area: usize, step: usize, planes: &mut [f32]) {
    for (first, pixels) in (0..area).step_by(PIXELS).zip(pixels.chunks(PIXELS * step)) {
        for (channel, plane) in planes.chunks_exact_mut(area).enumerate() {
            let values = pixels[channel..].iter().step_by(step);
            for (to, value) in plane[first..].iter_mut().zip(values) {
                *to = *value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_come_back_and_padding_stays() {
        for (channels, area, step) in [(3, 35, 8), (16, 16, 16), (5, 1, 8)] {
            let planes: Vec<f32> = (0..channels * area).map(|value| value as f32).collect();
            let mut pixels = vec![-1.0; area * step];
            to_pixels(&planes, area, step, &mut pixels);
            for (pixel, values) in pixels.chunks(step).enumerate() {
                for (channel, value) in values.iter().enumerate() {
                    let expected = match channel < channels {
                        true => (channel * area + pixel) as f32,
                        false => -1.0,
                    };
                    assert_eq!(*value, expected);
                }
            }
            let mut back = vec![0.0; planes.len()];
            to_planes(&pixels, area, step, &mut back);
            assert_eq!(back, planes);
        }
    }
}
