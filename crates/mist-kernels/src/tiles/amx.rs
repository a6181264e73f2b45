//! The processor's tiles, one instruction each.

use std::arch::asm;
use std::marker::PhantomData;

use super::{SIDE, Tiles};

/// The thread's tile registers.
pub(crate) struct Amx {
    /// Registers belong to their thread.
    not_send: PhantomData<*mut ()>,
}

/// What LDTILECFG reads.
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

/// An instruction that may change any tile: the compiler keeps nothing in them, as no function is compiled for AMX, so
/// values last from one statement to the next.
macro_rules! tile_asm {
    ($($argument:tt)*) => {
        asm!(
            $($argument)*,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack, preserves_flags),
        )
    };
}

impl Tiles for Amx {
    #[inline(always)]
    unsafe fn configure(pairs: usize) -> Self {
        let mut configuration = Configuration {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            row_bytes: [0; 16],
            rows: [0; 16],
        };
        for tile in 0..8 {
            let (rows, columns) = match tile {
                0..=3 => (SIDE, SIDE),
                4 | 5 => (SIDE, pairs),
                _ => (pairs, SIDE),
            };
            configuration.rows[tile] = rows as u8;
            configuration.row_bytes[tile] = 4 * columns as u16;
        }
        // SAFETY: the unit is present, and `configuration` is the 64 bytes of palette 1 with at most 16 rows of 64 bytes.
        unsafe { tile_asm!("ldtilecfg [{from}]", from = in(reg) &raw const configuration) };
        Self {
            not_send: PhantomData,
        }
    }

    #[inline(always)]
    unsafe fn zero<const T: usize>(&mut self) {
        // SAFETY: `configure` has made `self`, so that tile `T` is configured.
        unsafe { tile_asm!("tilezero tmm{tile}", tile = const T) };
    }

    #[inline(always)]
    unsafe fn load<const T: usize>(&mut self, from: *const u8, stride: usize) {
        // SAFETY: tile `T` is configured, and `from` is valid for its rows, `stride` bytes apart.
        unsafe {
            tile_asm!(
                "tileloadd tmm{tile}, [{from} + {stride}]",
                tile = const T, from = in(reg) from, stride = in(reg) stride
            );
        }
    }

    #[inline(always)]
    unsafe fn store<const T: usize>(&mut self, to: *mut u8, stride: usize) {
        // SAFETY: tile `T` is configured, and `to` is valid for its rows, `stride` bytes apart.
        unsafe {
            tile_asm!(
                "tilestored [{to} + {stride}], tmm{tile}",
                tile = const T, to = in(reg) to, stride = in(reg) stride
            );
        }
    }

    #[inline(always)]
    unsafe fn dot<const C: usize, const A: usize, const B: usize>(&mut self) {
        // SAFETY: by their roles `C` is 16 x 16 sums, `A` 16 x `pairs` and `B` `pairs` x 16, which fit each other.
        unsafe {
            tile_asm!(
                "tdpbf16ps tmm{c}, tmm{a}, tmm{b}",
                c = const C, a = const A, b = const B
            );
        }
    }
}

impl Drop for Amx {
    #[inline(always)]
    fn drop(&mut self) {
        // Empty tiles make switches between threads cheap again.
        // SAFETY: the value is not `Send`, so `configure` has run on this thread; no other value does.
        unsafe { tile_asm!("tilerelease") };
    }
}
