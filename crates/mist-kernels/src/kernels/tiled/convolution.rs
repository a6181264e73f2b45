//! `dst = src * weights + bias`, 32 positions by 32 outputs at a time.

use std::marker::PhantomData;

use super::outputs::Outputs;
use super::plane::Depth;
use super::source::{Line, Source};
use super::{POSITIONS, Plane};
use crate::kernels::on_load::OnLoad;
use crate::simd::{Kernel, Vector};
use crate::tiles::{SIDE, Tiles};

/// Convolution with packed weights; also the gradient of a source, with transposed ones.
pub(crate) struct TileConvolution<'a, T> {
    pub tiles: PhantomData<T>,
    pub plane: Plane,
    pub samples: usize,
    /// `samples` maps of the plane's source.
    pub src: &'a [f32],
    pub on_load: Option<OnLoad<'a>>,
    /// `samples` maps of the plane's outputs.
    pub dst: &'a mut [f32],
    /// As [`Plane::weights_len`]; see [`pack`](super::pack).
    pub weights: &'a [f32],
    /// One value per padded channel of the map.
    pub bias: Option<&'a [f32]>,
    pub relu: bool,
    pub accumulate: bool,
    /// As [`Plane::scratch_len`].
    pub scratch: &'a mut [f32],
}

/// Parts of the left and the right factor that are multiplied: rounded numbers, and then the residues of one with the
/// rounded numbers of the other. Residues times residues would be lost in the sums.
const TERMS: [[usize; 2]; 3] = [[0, 0], [1, 0], [0, 1]];

/// Sums of a block of positions, between the tiles and the map.
#[repr(C, align(64))]
struct Sums([f32; POSITIONS * 2 * SIDE]);

impl<T: Tiles> Kernel for TileConvolution<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let plane = self.plane;
        let Depth { channels, chunk } = plane.depth();
        let (pitch, rows) = (plane.pitch(), plane.rows(self.samples));
        let source = Source {
            map: self.src,
            pixels: plane.src,
            samples: self.samples,
            on_load: self.on_load,
            frame: plane.frame,
            pitch,
            period: plane.period(),
        };
        let out = Outputs {
            plane,
            dst: self.dst.as_mut_ptr(),
            bias: self.bias,
            relu: self.relu,
            accumulate: self.accumulate,
        };
        let out_tiles = plane.out_tiles();
        let mut sums = Sums([0.0; POSITIONS * 2 * SIDE]);
        // SAFETY: a strip's rows and the rest are `strip_positions` positions in all, for which the scratch has room; a block
        // reads at most two tiles of positions and the reach of the kernel beyond `first`, which are among them. Each
        // output tile's weights are `next_tile` values. Stretches are outputs of the map, and sums are two rows of tiles.
        // The unit is present by this function's contract, and `tiles` is the thread's only value.
        unsafe {
            let mut tiles = T::configure(chunk / 2);
            let strip = plane.strip_rows();
            for top in (0..rows).step_by(strip) {
                let strip = strip.min(rows - top);
                let filled = strip + plane.kernel - 1;
                let part_len = plane.strip_len(strip);
                let line = Line {
                    start: self.scratch.as_mut_ptr().cast(),
                    step: channels,
                    residues: plane.residues.then_some(2 * part_len),
                };
                for row in 0..filled {
                    source.write_row::<V>(top + row, line.from(row * pitch));
                }
                let rest = plane.strip_positions(strip) - filled * pitch;
                line.clear(filled * pitch, rest);
                let steps = Steps::new(plane, 4 * part_len);
                let positions = strip * pitch;
                for first in (0..positions).step_by(POSITIONS) {
                    let stretches = out.stretches(top, first, positions);
                    for tile in (0..out_tiles).step_by(2) {
                        let block = Block {
                            left: line.from(first).start.cast(),
                            right: self.weights.as_ptr().add(tile * steps.next_tile),
                            tall: positions - first > SIDE,
                            wide: tile + 1 < out_tiles,
                        };
                        block.multiply(&steps, &mut tiles, &mut sums);
                        for (half, tile) in (tile..out_tiles).take(2).enumerate() {
                            out.write::<V>(tile, &stretches, sums.0.as_ptr().add(half * SIDE));
                        }
                    }
                }
            }
        }
    }
}

/// Distances between factors: bytes on the left, values on the right.
struct Steps {
    kernel: usize,
    chunks_per_row: usize,
    terms: usize,
    position: usize,
    chunk: usize,
    row: usize,
    left_part: usize,
    right_chunk: usize,
    next_tile: usize,
    right_part: usize,
}

impl Steps {
    #[inline(always)]
    fn new(plane: Plane, left_part: usize) -> Self {
        let Depth { channels, chunk } = plane.depth();
        let right_chunk = chunk / 2 * SIDE;
        Self {
            kernel: plane.kernel,
            chunks_per_row: plane.kernel * channels / chunk,
            terms: if plane.residues { TERMS.len() } else { 1 },
            position: 2 * channels,
            chunk: 2 * chunk,
            row: 2 * channels * plane.pitch(),
            left_part,
            right_chunk,
            next_tile: plane.chunks() * right_chunk,
            right_part: plane.part_len(),
        }
    }
}

/// Up to two tiles of positions times up to two of outputs.
struct Block {
    left: *const u8,
    right: *const f32,
    tall: bool,
    wide: bool,
}

impl Block {
    /// # Safety
    /// The tile unit is present. `left` is valid for reads of two tiles of positions, or one unless `tall`, and the reach
    /// of the kernel after them, in each part; `right` is valid for reads of two output tiles, or one unless `wide`.
    #[inline(always)]
    unsafe fn multiply<T: Tiles>(&self, steps: &Steps, tiles: &mut T, sums: &mut Sums) {
        let stride = steps.position;
        // SAFETY: the loads are as the caller promises; the stores are the four quarters of `sums`.
        unsafe {
            tiles.zero::<0>();
            tiles.zero::<1>();
            tiles.zero::<2>();
            tiles.zero::<3>();
            for &[left, right] in &TERMS[..steps.terms] {
                let left = self.left.add(left * steps.left_part);
                let mut right = self.right.add(right * steps.right_part);
                for row in 0..steps.kernel {
                    for chunk in 0..steps.chunks_per_row {
                        let left = left.add(row * steps.row + chunk * steps.chunk);
                        tiles.load::<4>(left, stride);
                        tiles.load::<6>(right.cast(), 4 * SIDE);
                        tiles.dot::<0, 4, 6>();
                        if self.tall {
                            tiles.load::<5>(left.add(SIDE * stride), stride);
                            tiles.dot::<2, 5, 6>();
                        }
                        if self.wide {
                            tiles.load::<7>(right.add(steps.next_tile).cast(), 4 * SIDE);
                            tiles.dot::<1, 4, 7>();
                            if self.tall {
                                tiles.dot::<3, 5, 7>();
                            }
                        }
                        right = right.add(steps.right_chunk);
                    }
                }
            }
            let (to, half) = (sums.0.as_mut_ptr(), SIDE * 2 * SIDE);
            tiles.store::<0>(to.cast(), 8 * SIDE);
            tiles.store::<1>(to.add(SIDE).cast(), 8 * SIDE);
            tiles.store::<2>(to.add(half).cast(), 8 * SIDE);
            tiles.store::<3>(to.add(half + SIDE).cast(), 8 * SIDE);
        }
    }
}
