//! Measured peak of the tile units.

use crate::simd::Isa;

impl Isa {
    /// Billions of bf16 operations per second on the tiles of all of rayon's threads, measured now, the best of three
    /// tries; `None` without tiles.
    pub fn measured_tile_peak_gflops(self) -> Option<f64> {
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        if self == Self::Amx && self.is_present() {
            return Some(measured());
        }
        None
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn measured() -> f64 {
    use std::time::Instant;

    use rayon::prelude::*;

    use super::{Amx, SIDE, Tiles};

    const ROUNDS: usize = 1_000_000;
    const DOTS: usize = 4;

    let threads = rayon::current_num_threads();
    let operations = (threads * ROUNDS * DOTS * SIDE * SIDE * SIDE * 4) as f64;
    let tries = (0..3).map(|_| {
        let start = Instant::now();
        (0..threads).into_par_iter().for_each(|_| {
            let factors = [[0u32; SIDE]; SIDE];
            // SAFETY: the only caller has checked that AMX is present; `factors` are 16 rows of 64 bytes.
            unsafe {
                let mut tiles = Amx::configure(SIDE);
                tiles.zero::<0>();
                tiles.zero::<1>();
                tiles.zero::<2>();
                tiles.zero::<3>();
                tiles.load::<4>(factors.as_ptr().cast(), 64);
                tiles.load::<5>(factors.as_ptr().cast(), 64);
                tiles.load::<6>(factors.as_ptr().cast(), 64);
                tiles.load::<7>(factors.as_ptr().cast(), 64);
                for _ in 0..ROUNDS {
                    tiles.dot::<0, 4, 6>();
                    tiles.dot::<1, 4, 7>();
                    tiles.dot::<2, 5, 6>();
                    tiles.dot::<3, 5, 7>();
                }
            }
        });
        operations / start.elapsed().as_secs_f64() / 1e9
    });
    tries.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_peak_only_where_there_are_tiles() {
        for isa in [Isa::Portable, Isa::Avx2, Isa::Avx512] {
            assert_eq!(isa.measured_tile_peak_gflops(), None);
        }
        assert_eq!(
            Isa::Amx.measured_tile_peak_gflops().is_some(),
            Isa::Amx.is_present()
        );
    }
}
