//! `dst = src * weights + bias`, 32 positions by 32 outputs at a time.

use std::marker::PhantomData;

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
    pub src: &'a [f32],
    pub on_load: Option<OnLoad<'a>>,
    pub dst: &'a mut [f32],
    /// See [`pack`](super::pack).
    pub weights: &'a [f32],
    /// One value per padded channel of the map.
    pub bias: Option<&'a [f32]>,
    pub relu: bool,
    pub accumulate: bool,
    pub scratch: &'a mut [f32],
}

/// Parts of the left and the right factor that are multiplied: rounded numbers, and then the residues of one with the
/// rounded numbers of the other. Residues times residues would be lost in the sums.
const TERMS: [[usize; 2]; 3] = [[0, 0], [1, 0], [0, 1]];

/// Sums on their way from tiles to the map.
#[repr(C, align(64))]
struct Sums([f32; POSITIONS * 2 * SIDE]);

/// Stands for a position between rows.
const NOWHERE: usize = usize::MAX;

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
        let tile_len = chunk / 2 * SIDE;
        let mut sums = Sums([0.0; POSITIONS * 2 * SIDE]);
        // SAFETY: `strip_positions` bounds what is written and read of the scratch; weights are packed for this plane.
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
                let positions = strip * pitch;
                for first in (0..positions).step_by(POSITIONS) {
                    let places = out.places(top, first, positions);
                    for tile in (0..out_tiles).step_by(2) {
                        let block = Block {
                            plane,
                            depth: Depth { channels, chunk },
                            left: line.from(first).start.cast(),
                            right: self.weights.as_ptr().add(tile * plane.chunks() * tile_len),
                            left_part: 4 * part_len,
                            tall: positions - first > SIDE,
                            wide: tile + 1 < out_tiles,
                        };
                        block.multiply(&mut tiles, &mut sums);
                        for (half, tile) in (tile..out_tiles).take(2).enumerate() {
                            out.write::<V>(tile, &places, sums.0.as_ptr().add(half * SIDE));
                        }
                    }
                }
            }
        }
    }
}

/// Up to two tiles of positions times up to two of outputs.
struct Block {
    plane: Plane,
    depth: Depth,
    left: *const u8,
    right: *const f32,
    /// Bytes from a part of the left factor to the next.
    left_part: usize,
    tall: bool,
    wide: bool,
}

impl Block {
    #[inline(always)]
    unsafe fn multiply<T: Tiles>(&self, tiles: &mut T, sums: &mut Sums) {
        let Depth { channels, chunk } = self.depth;
        let kernel = self.plane.kernel;
        let (per_row, row_bytes) = (kernel * channels / chunk, 2 * self.plane.pitch() * channels);
        let stride = 2 * channels;
        let tile_len = chunk / 2 * SIDE;
        let next_tile = self.plane.chunks() * tile_len;
        let terms = if self.plane.residues { TERMS.len() } else { 1 };
        // SAFETY: the caller's strip holds two tiles of positions and the reach of the kernel after `left`.
        unsafe {
            tiles.zero::<0>();
            tiles.zero::<1>();
            tiles.zero::<2>();
            tiles.zero::<3>();
            for &[left, right] in &TERMS[..terms] {
                let mut right = self.right.add(right * self.plane.part_len());
                for row in 0..kernel {
                    let left = self.left.add(left * self.left_part + row * row_bytes);
                    for part in 0..per_row {
                        let left = left.add(2 * part * chunk);
                        tiles.load::<4>(left, stride);
                        tiles.load::<6>(right.cast(), 4 * SIDE);
                        tiles.dot::<0, 4, 6>();
                        if self.tall {
                            tiles.load::<5>(left.add(SIDE * stride), stride);
                            tiles.dot::<2, 5, 6>();
                        }
                        if self.wide {
                            tiles.load::<7>(right.add(next_tile).cast(), 4 * SIDE);
                            tiles.dot::<1, 4, 7>();
                            if self.tall {
                                tiles.dot::<3, 5, 7>();
                            }
                        }
                        right = right.add(tile_len);
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

/// The map that is written.
struct Outputs<'a> {
    plane: Plane,
    dst: *mut f32,
    bias: Option<&'a [f32]>,
    relu: bool,
    accumulate: bool,
}

impl Outputs<'_> {
    /// Where the outputs of a block of positions begin in the map.
    #[inline(always)]
    fn places(&self, top: usize, first: usize, positions: usize) -> [usize; POSITIONS] {
        let Plane { dst, .. } = self.plane;
        let (pitch, period) = (self.plane.pitch(), self.plane.period());
        let mut places = [NOWHERE; POSITIONS];
        let (mut row, mut x) = (top + first / pitch, first % pitch);
        let (mut sample, mut y) = (row / period, row % period);
        for place in places.iter_mut().take(positions - first) {
            if x < dst.width && y < dst.height {
                *place = dst.at(sample, y, x);
            }
            x += 1;
            if x == pitch {
                x = 0;
                row += 1;
                (sample, y) = (row / period, row % period);
            }
        }
        places
    }

    /// Writes one tile of outputs; a tile never spans two lines of a pixel.
    #[inline(always)]
    unsafe fn write<V: Vector>(&self, tile: usize, places: &[usize; POSITIONS], sums: *const f32) {
        let dst = self.plane.dst;
        let (line, first) = (
            tile * SIDE / dst.line_channels(),
            tile * SIDE % dst.line_channels(),
        );
        let width = SIDE.min(dst.line_channels() - first);
        let offset = line * dst.line_step() + first;
        for (position, &place) in places.iter().enumerate() {
            if place == NOWHERE {
                continue;
            }
            for column in (0..width).step_by(V::LANES) {
                // SAFETY: the place is a pixel of the map, and sums are rows of two tiles.
                unsafe {
                    let mut value = V::load(sums.add(position * 2 * SIDE + column));
                    if let Some(bias) = self.bias {
                        let channel = (first + column) % dst.map_channels;
                        value = value.add(V::load(bias.as_ptr().add(channel)));
                    }
                    let to = self.dst.add(place + offset + column);
                    if self.accumulate {
                        value = value.add(V::load(to));
                    }
                    if self.relu {
                        value = value.max(V::splat(0.0));
                    }
                    value.store(to);
                }
            }
        }
    }
}
