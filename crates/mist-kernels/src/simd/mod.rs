//! Vectors of f32 and the instruction sets that provide them.
//!
//! A kernel is written once over an abstract vector and compiled for every instruction set; which one runs is decided
//! at run time, whatever machine built it.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod bf16;
mod isa;
mod peak;
mod portable;
mod precision;

pub use isa::{Isa, IsaError};
pub use precision::{Precision, PrecisionError};

/// A register of f32 lanes.
///
/// # Safety
/// All methods may only be called where the instruction set they are built from is present, which is what
/// [`Isa::launch`] guarantees inside a [`Kernel`]. Methods that take pointers say what these must be valid for; no
/// pointer needs more than the alignment of its type.
pub(crate) trait Vector: Copy {
    /// Lanes.
    const LANES: usize;
    /// Rows of accumulators, two registers wide, that fit into the register file.
    const MAX_ROWS: usize;

    unsafe fn splat(value: f32) -> Self;
    /// Reads `LANES` values.
    unsafe fn load(from: *const f32) -> Self;
    /// Writes `LANES` values.
    unsafe fn store(self, to: *mut f32);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    /// `self * factor + summand`, rounded once where the instruction set can.
    unsafe fn mul_add(self, factor: Self, summand: Self) -> Self;
    /// The larger of both; `self` where it is NaN, so that a ReLU does not hide it.
    unsafe fn max(self, other: Self) -> Self;
    /// The smaller of both; `self` where it is NaN.
    unsafe fn min(self, other: Self) -> Self;
    /// `self` where `mask` is positive, else zero.
    unsafe fn where_positive(self, mask: Self) -> Self;
    unsafe fn sum(self) -> f32;

    /// The lanes rounded to bf16.
    #[inline(always)]
    unsafe fn round_bf16(self) -> Self {
        let mut lanes = [0.0; MOST_LANES];
        // SAFETY: the array holds `MOST_LANES` values, at least `LANES`.
        unsafe {
            self.store(lanes.as_mut_ptr());
            for value in &mut lanes[..Self::LANES] {
                *value = f32::from_bits(bf16::rounded_bits(*value));
            }
            Self::load(lanes.as_ptr())
        }
    }

    /// Writes the lanes rounded to bf16, `LANES` values.
    #[inline(always)]
    unsafe fn store_bf16(self, to: *mut u16) {
        let mut lanes = [0.0; MOST_LANES];
        // SAFETY: the array holds at least `LANES` values, and `to` is valid for `LANES` of them.
        unsafe {
            self.store(lanes.as_mut_ptr());
            for (lane, value) in lanes[..Self::LANES].iter().enumerate() {
                *to.add(lane) = (bf16::rounded_bits(*value) >> 16) as u16;
            }
        }
    }

    /// Rounds to bf16: these lanes in the lower halves of the result, those of `high` in the upper ones.
    #[inline(always)]
    unsafe fn pair_bf16(self, high: Self) -> Self {
        let [mut low_lanes, mut high_lanes] = [[0.0; MOST_LANES]; 2];
        // SAFETY: the arrays hold at least `LANES` values each.
        unsafe {
            self.store(low_lanes.as_mut_ptr());
            high.store(high_lanes.as_mut_ptr());
            for (low, &high) in low_lanes.iter_mut().zip(&high_lanes) {
                *low = f32::from_bits(bf16::pair(*low, high));
            }
            Self::load(low_lanes.as_ptr())
        }
    }

    /// Transposes a square: `LANES` rows of `LANES` values each, `from_step` and `to_step` values apart.
    #[inline(always)]
    unsafe fn transpose(from: *const f32, from_step: usize, to: *mut f32, to_step: usize) {
        for row in 0..Self::LANES {
            for column in 0..Self::LANES {
                // SAFETY: row and column are below `LANES`, so both places lie in the caller's squares.
                unsafe { *to.add(column * to_step + row) = *from.add(row * from_step + column) };
            }
        }
    }
}

/// Lanes of the widest vector.
const MOST_LANES: usize = 16;

/// Work that is the same on every instruction set.
pub(crate) trait Kernel {
    /// Does the work. Implementations are `#[inline(always)]`, so that they are compiled with the caller's
    /// instruction set.
    ///
    /// # Safety
    /// The instruction set of the vector, and that of the tiles for kernels that use them, is present. Every padded
    /// number of channels is a multiple of the lanes, and the kernel's slices are as long as its fields say.
    unsafe fn run<V: Vector>(self);
}
