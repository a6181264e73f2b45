//! Weights between `(tap, input, output)` and the order of the tiles.

use super::Plane;
use super::plane::Depth;
use crate::simd::bf16;
use crate::tiles::{SIDE, TILE_VALUES};

/// Writes the right factors of a plane's products, tile after tile: `[output tile][chunk][pair of inputs][output]`, and
/// then their residues, if the plane has any.
pub(crate) fn pack(plane: Plane, packed: &mut [f32], weight: impl Fn(usize, usize, usize) -> f32) {
    let Depth { channels, chunk } = plane.depth();
    let (inputs, outputs) = (plane.src.channels(), plane.dst.channels());
    let per_row = plane.kernel * channels / chunk;
    let value = |chunk_index: usize, place: usize, output: usize| {
        let along = chunk_index % per_row * chunk + place;
        let tap = chunk_index / per_row * plane.kernel + along / channels;
        let input = along % channels;
        if input < inputs && output < outputs {
            weight(tap, input, output)
        } else {
            0.0
        }
    };
    for (part, packed) in packed.chunks_exact_mut(plane.part_len()).enumerate() {
        let tiles = packed.chunks_exact_mut(chunk / 2 * SIDE);
        for (index, tile) in tiles.enumerate() {
            let (out_tile, chunk_index) = (index / plane.chunks(), index % plane.chunks());
            for (pair, line) in tile.chunks_exact_mut(SIDE).enumerate() {
                for (column, slot) in line.iter_mut().enumerate() {
                    let output = out_tile * SIDE + column;
                    let [low, high] = [0, 1].map(|half| {
                        let value = value(chunk_index, 2 * pair + half, output);
                        if part == 0 {
                            value
                        } else {
                            bf16::residue(value)
                        }
                    });
                    *slot = f32::from_bits(bf16::pair(low, high));
                }
            }
        }
    }
}

/// Where the gradient of a weight lies: `[tap][input tile][output tile][input][output]`.
pub(crate) fn gradient_at(plane: Plane, tap: usize, input: usize, output: usize) -> usize {
    let tile = (tap * plane.in_tiles() + input / SIDE) * plane.out_tiles() + output / SIDE;
    tile * TILE_VALUES + input % SIDE * SIDE + output % SIDE
}
