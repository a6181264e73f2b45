//! Weights between `(tap, input, output)` and the order of the tiles.

use super::Plane;
use super::plane::Depth;
use crate::simd::bf16;
use crate::tiles::{SIDE, TILE_VALUES};

/// Writes the right factors of a plane's products, tile after tile: `[output tile][chunk][pair of inputs][output]`, and
/// then their residues, if the plane has any. `fill(tap, input, line)` writes an input's weights for all outputs.
pub(crate) fn pack(plane: Plane, packed: &mut [f32], fill: impl Fn(usize, usize, &mut [f32])) {
    let Depth { channels, chunk } = plane.depth();
    let (inputs, chunks, out_tiles) = (plane.src.channels(), plane.chunks(), plane.out_tiles());
    let row = plane.kernel * channels;
    let (first, residues) = packed.split_at_mut(plane.part_len());
    let mut lines = vec![0.0; 2 * out_tiles * SIDE];
    for pair in 0..plane.kernel * row / 2 {
        lines.fill(0.0);
        let (low, high) = lines.split_at_mut(out_tiles * SIDE);
        for (place, line) in [2 * pair, 2 * pair + 1]
            .into_iter()
            .zip([&mut *low, &mut *high])
        {
            let (tap, input) = (place / channels, place % channels);
            if input < inputs {
                fill(tap, input, line);
            }
        }
        let values = low.chunks_exact(SIDE).zip(high.chunks_exact(SIDE));
        for (out_tile, (low, high)) in values.enumerate() {
            let at = (out_tile * chunks * chunk / 2 + pair) * SIDE;
            write_pairs(low, high, &mut first[at..][..SIDE], |value| value);
            if plane.residues {
                write_pairs(low, high, &mut residues[at..][..SIDE], bf16::residue);
            }
        }
    }
}

fn write_pairs(low: &[f32], high: &[f32], to: &mut [f32], part: impl Fn(f32) -> f32) {
    for ((slot, &low), &high) in to.iter_mut().zip(low).zip(high) {
        *slot = f32::from_bits(bf16::pair(part(low), part(high)));
    }
}

/// Where the gradient of a weight lies: `[tap][input tile][output tile][input][output]`.
pub(crate) fn gradient_at(plane: Plane, tap: usize, input: usize, output: usize) -> usize {
    let tile = (tap * plane.in_tiles() + input / SIDE) * plane.out_tiles() + output / SIDE;
    tile * TILE_VALUES + input % SIDE * SIDE + output % SIDE
}
