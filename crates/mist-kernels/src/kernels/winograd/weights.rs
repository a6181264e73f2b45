//! Weights between the 3x3 domain and the transformed one.

use super::{PATCH, PLACES};

/// `G`, from a 3-tap kernel to 6 places.
const KERNEL: [[f32; 3]; PATCH] = [
    [1.0 / 4.0, 0.0, 0.0],
    [-1.0 / 6.0, -1.0 / 6.0, -1.0 / 6.0],
    [-1.0 / 6.0, 1.0 / 6.0, -1.0 / 6.0],
    [1.0 / 24.0, 1.0 / 12.0, 1.0 / 6.0],
    [1.0 / 24.0, -1.0 / 12.0, 1.0 / 6.0],
    [0.0, 0.0, 1.0],
];

/// Weights that are transformed at once, so that the inner loops run over neighbours.
const STRIP: usize = 16;

/// Transforms slabs `[3x3][in][out]` to `[36][in][out]`.
pub(crate) fn transform_weights(slabs: &[f32], places: &mut [f32], flipped: bool) {
    let slab_len = slabs.len() / 9;
    for start in (0..slab_len).step_by(STRIP) {
        let width = STRIP.min(slab_len - start);
        let mut half = [[[0.0f32; STRIP]; 3]; PATCH];
        for tap in 0..9 {
            let from = if flipped { 8 - tap } else { tap };
            let strip = &slabs[from * slab_len + start..][..width];
            for (place, kernel) in KERNEL.iter().enumerate() {
                add_scaled(&mut half[place][tap % 3], strip, kernel[tap / 3]);
            }
        }
        for (row, half) in half.iter().enumerate() {
            for (column, kernel) in KERNEL.iter().enumerate() {
                let mut sums = [0.0f32; STRIP];
                for (half, &factor) in half.iter().zip(kernel) {
                    add_scaled(&mut sums, half, factor);
                }
                places[(row * PATCH + column) * slab_len + start..][..width]
                    .copy_from_slice(&sums[..width]);
            }
        }
    }
}

/// Adds the gradient of `[36][in][out]` to that of `[3x3][in][out]`.
pub(crate) fn transform_weight_gradient(places: &[f32], slabs: &mut [f32]) {
    let slab_len = slabs.len() / 9;
    for start in (0..slab_len).step_by(STRIP) {
        let width = STRIP.min(slab_len - start);
        let mut half = [[[0.0f32; STRIP]; PATCH]; 3];
        for place in 0..PLACES {
            let strip = &places[place * slab_len + start..][..width];
            for (tap, half) in half.iter_mut().enumerate() {
                add_scaled(&mut half[place % PATCH], strip, KERNEL[place / PATCH][tap]);
            }
        }
        for (row, half) in half.iter().enumerate() {
            for column in 0..3 {
                let mut sums = [0.0f32; STRIP];
                for (half, kernel) in half.iter().zip(&KERNEL) {
                    add_scaled(&mut sums, half, kernel[column]);
                }
                let to = &mut slabs[(row * 3 + column) * slab_len + start..][..width];
                add_scaled(to, &sums[..width], 1.0);
            }
        }
    }
}

fn add_scaled(to: &mut [f32], from: &[f32], factor: f32) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}
