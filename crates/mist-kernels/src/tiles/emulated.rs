//! Tiles in plain Rust, after the operation that Intel's manual gives for TDPBF16PS.

use super::{SIDE, Tiles};

/// A row of a tile: sixteen pairs of bf16, or the bits of sixteen f32.
type Row = [u32; SIDE];

/// Eight tiles in memory.
pub(crate) struct Emulated {
    tiles: [[Row; SIDE]; 8],
    pairs: usize,
}

impl Emulated {
    /// Rows and 32-bit columns of a tile, by its role.
    #[inline(always)]
    fn shape<const T: usize>(&self) -> (usize, usize) {
        match T {
            0..=3 => (SIDE, SIDE),
            4 | 5 => (SIDE, self.pairs),
            _ => (self.pairs, SIDE),
        }
    }
}

impl Tiles for Emulated {
    #[inline(always)]
    unsafe fn configure(pairs: usize) -> Self {
        Self {
            tiles: [[[0; SIDE]; SIDE]; 8],
            pairs,
        }
    }

    #[inline(always)]
    unsafe fn zero<const T: usize>(&mut self) {
        self.tiles[T] = [[0; SIDE]; SIDE];
    }

    #[inline(always)]
    unsafe fn load<const T: usize>(&mut self, from: *const u8, stride: usize) {
        let (rows, columns) = self.shape::<T>();
        for (index, row) in self.tiles[T][..rows].iter_mut().enumerate() {
            // SAFETY: the caller's row holds `columns` words, and so does the tile's, as `columns` is at most `SIDE`.
            unsafe {
                let from = from.add(index * stride);
                std::ptr::copy_nonoverlapping(from, row.as_mut_ptr().cast(), 4 * columns);
            }
        }
    }

    #[inline(always)]
    unsafe fn store<const T: usize>(&mut self, to: *mut u8, stride: usize) {
        let (rows, columns) = self.shape::<T>();
        for (index, row) in self.tiles[T][..rows].iter().enumerate() {
            // SAFETY: as in `load`, the other way round.
            unsafe {
                let to = to.add(index * stride);
                std::ptr::copy_nonoverlapping(row.as_ptr().cast(), to, 4 * columns);
            }
        }
    }

    #[inline(always)]
    unsafe fn dot<const C: usize, const A: usize, const B: usize>(&mut self) {
        let [left_evens, left_odds] = halves(&self.tiles[A]);
        let [right_evens, right_odds] = halves(&self.tiles[B]);
        let left = left_evens.iter().zip(&left_odds);
        for ((left_evens, left_odds), values) in left.zip(&mut self.tiles[C]) {
            // The two halves of the pairs are summed apart and meet at the end.
            let [mut evens, mut odds] = [[0.0f32; SIDE]; 2];
            for k in 0..self.pairs.min(SIDE) {
                for n in 0..SIDE {
                    evens[n] = flushed(left_evens[k].mul_add(right_evens[k][n], evens[n]));
                    odds[n] = flushed(left_odds[k].mul_add(right_odds[k][n], odds[n]));
                }
            }
            for (n, value) in values.iter_mut().enumerate() {
                let sum = flushed(evens[n] + odds[n]);
                *value = flushed(flushed(f32::from_bits(*value)) + sum).to_bits();
            }
        }
    }
}

/// Denormals count as zero, whatever the processor's own setting.
#[inline(always)]
fn flushed(value: f32) -> f32 {
    let bits = value.to_bits();
    let keep = if bits & 0x7f80_0000 == 0 {
        0x8000_0000
    } else {
        u32::MAX
    };
    f32::from_bits(bits & keep)
}

/// The numbers in the lower and in the upper halves of a tile.
#[inline(always)]
fn halves(tile: &[Row; SIDE]) -> [[[f32; SIDE]; SIDE]; 2] {
    let mut halves = [[[0.0; SIDE]; SIDE]; 2];
    for (m, row) in tile.iter().enumerate() {
        for (n, &pair) in row.iter().enumerate() {
            halves[0][m][n] = flushed(f32::from_bits(pair << 16));
            halves[1][m][n] = flushed(f32::from_bits(pair & 0xffff_0000));
        }
    }
    halves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::bf16::pair;

    fn product(left: [f32; 4], right: [f32; 4], sum: f32) -> f32 {
        // SAFETY: `a` is 16 rows of 2 pairs, 8 bytes apart; `b` 2 rows and `c` 16 rows of 16 words, 64 bytes apart.
        unsafe {
            let mut tiles = Emulated::configure(2);
            let a = [[pair(left[0], left[1]), pair(left[2], left[3])]; SIDE];
            let b = [
                [pair(right[0], right[1]); SIDE],
                [pair(right[2], right[3]); SIDE],
            ];
            let mut c = [[sum; SIDE]; SIDE];
            tiles.load::<0>(c.as_ptr().cast(), 64);
            tiles.load::<4>(a.as_ptr().cast(), 8);
            tiles.load::<6>(b.as_ptr().cast(), 64);
            tiles.dot::<0, 4, 6>();
            tiles.store::<0>(c.as_mut_ptr().cast(), 64);
            assert!(c.iter().flatten().all(|&value| value == c[0][0]));
            c[0][0]
        }
    }

    #[test]
    fn pairs_are_multiplied_and_added() {
        let sum = product([1.0, 2.0, 3.0, 4.0], [0.5, 0.25, -1.0, 8.0], 10.0);
        assert_eq!(sum, 10.0 + 0.5 + 0.5 - 3.0 + 32.0);
    }

    #[test]
    fn halves_meet_only_at_the_end() {
        // In any other order the ones would be lost beside the large numbers.
        let large = 2f32.powi(30);
        let sum = product([large, 1.0, -large, 1.0], [1.0; 4], 0.0);
        assert_eq!(sum, 2.0);
    }

    #[test]
    fn denormals_are_zero() {
        let tiny = f32::MIN_POSITIVE / 2.0;
        let huge = 2f32.powi(127);
        assert_eq!(product([tiny; 4], [huge; 4], 0.0), 0.0);
        assert_eq!(product([0.0; 4], [0.0; 4], tiny), 0.0);
        let small = f32::MIN_POSITIVE;
        assert_eq!(product([small; 4], [0.125; 4], 0.0), 0.0);
        assert_eq!(product([small, 0.0, 0.0, 0.0], [1.0; 4], 0.0), small);
    }
}
