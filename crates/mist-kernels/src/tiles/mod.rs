//! Matrix products on tile registers: bf16 factors, f32 sums.
//!
//! Kernels are written over [`Tiles`] and run on the machine's own tiles or on emulated ones, with the same result to
//! the bit.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx;
mod emulated;
mod peak;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod permission;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) use amx::Amx;
pub(crate) use emulated::Emulated;

/// Rows of a tile, and f32 in a row.
pub(crate) const SIDE: usize = 16;
/// Values of a tile of sums.
pub(crate) const TILE_VALUES: usize = SIDE * SIDE;

/// Whose tiles a kernel runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TileUnit {
    /// The processor's.
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    Amx,
    /// Those of [`Emulated`].
    Emulated,
}

/// Whether the processor and the operating system offer AMX with bf16.
pub(crate) fn amx_is_usable() -> bool {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    return permission::is_granted();
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    false
}

/// Eight tile registers with fixed roles: 0 to 3 hold sums, 4 and 5 left factors, 6 and 7 right factors.
///
/// Sums are 16 rows of 16 f32. Left factors are 16 rows of `pairs` pairs of bf16; right factors are `pairs` rows of 16
/// pairs, whose halves belong to two neighbouring rows of the matrix.
///
/// # Safety
/// The methods may only be called where the unit is present, and a thread holds one value at a time. Pointers are valid
/// for the rows of the tile, which are `stride` bytes apart, with any alignment.
pub(crate) trait Tiles: Sized {
    /// Takes the thread's tiles for factors of `pairs` pairs, at most 16. They are given back on drop.
    unsafe fn configure(pairs: usize) -> Self;
    /// Sets a tile to zero.
    unsafe fn zero<const T: usize>(&mut self);
    /// Reads a tile whose rows are `stride` bytes apart.
    unsafe fn load<const T: usize>(&mut self, from: *const u8, stride: usize);
    /// Writes a tile of sums to rows `stride` bytes apart.
    unsafe fn store<const T: usize>(&mut self, to: *mut u8, stride: usize);
    /// Adds the product of `A` and `B` to the sums `C`.
    unsafe fn dot<const C: usize, const A: usize, const B: usize>(&mut self);
}

/// Runs a kernel that is generic over its tiles on the given unit.
macro_rules! launch_on {
    ($unit:expr, $isa:expr, $channels:expr, $kernel:ident { $($fields:tt)* }) => {
        match $unit {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            $crate::tiles::TileUnit::Amx => $isa.launch(
                $channels,
                $kernel::<$crate::tiles::Amx> { tiles: std::marker::PhantomData, $($fields)* },
            ),
            $crate::tiles::TileUnit::Emulated => $isa.launch(
                $channels,
                $kernel::<$crate::tiles::Emulated> { tiles: std::marker::PhantomData, $($fields)* },
            ),
        }
    };
}
pub(crate) use launch_on;
