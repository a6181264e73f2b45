//! Measured peak of the vector units.

use std::time::Instant;

use rayon::prelude::*;

use super::{Isa, IsaError, Kernel, Vector};

/// Independent chains, enough to hide the latency of two units.
const CHAINS: usize = 24;
const ROUNDS: usize = 2_000_000;

struct Multiply<'a> {
    result: &'a mut f32,
}

impl Kernel for Multiply<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: the instruction set is present; no pointer is involved.
        unsafe {
            let (factor, summand) = (V::splat(0.999), V::splat(1e-3));
            let mut chains = [V::splat(0.5); CHAINS];
            for _ in 0..ROUNDS {
                for chain in &mut chains {
                    *chain = chain.mul_add(factor, summand);
                }
            }
            for chain in chains {
                *self.result += chain.sum();
            }
        }
    }
}

impl Isa {
    /// Billions of f32 operations per second on all of rayon's threads, measured now, the best of three tries.
    ///
    /// # Errors
    /// When this machine lacks the instruction set.
    pub fn measured_peak_gflops(self) -> Result<f64, IsaError> {
        let isa = self.checked()?;
        let lanes = match self {
            Self::Avx512 | Self::Amx => 16,
            Self::Avx2 | Self::Portable => 8,
        };
        let threads = rayon::current_num_threads();
        let operations = (threads * ROUNDS * CHAINS * lanes * 2) as f64;
        let tries = (0..3).map(|_| {
            let start = Instant::now();
            let sum: f32 = (0..threads)
                .into_par_iter()
                .map(|_| {
                    let mut result = 0.0;
                    // SAFETY: the instruction set was checked above, and the kernel has no slices.
                    unsafe {
                        isa.launch(
                            16,
                            Multiply {
                                result: &mut result,
                            },
                        )
                    };
                    result
                })
                .sum();
            std::hint::black_box(sum);
            operations / start.elapsed().as_secs_f64() / 1e9
        });
        Ok(tries.fold(0.0, f64::max))
    }
}
