//! Vectors of f32 and the instruction sets that provide them.
//!
//! A kernel is written once over an abstract vector and compiled for every instruction set; which one runs is decided
//! at run time. Nothing is compiled for the build machine in particular.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod isa;
mod peak;
mod portable;

pub use isa::{Isa, IsaError};

/// A register of f32 lanes.
///
/// # Safety
/// The methods may only be called where the instruction set they are built from is present, which is what
/// [`Isa::launch`] guarantees inside a [`Kernel`].
pub(crate) trait Vector: Copy {
    /// Lanes.
    const LANES: usize;
    /// Rows of accumulators, two registers wide, that fit into the register file.
    const MAX_ROWS: usize;

    unsafe fn splat(value: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    /// `self * factor + summand`, rounded once where the instruction set can.
    unsafe fn mul_add(self, factor: Self, summand: Self) -> Self;
    unsafe fn max(self, other: Self) -> Self;
    /// `self` where `mask` is positive, else zero.
    unsafe fn where_positive(self, mask: Self) -> Self;
    unsafe fn sum(self) -> f32;
}

/// Work that is the same on every instruction set.
pub(crate) trait Kernel {
    /// Does the work. Implementations are `#[inline(always)]`, so that they are compiled with the caller's
    /// instruction set.
    ///
    /// # Safety
    /// The vector's instruction set is present and the kernel's own pointers are valid.
    unsafe fn run<V: Vector>(self);
}
