//! Eight lanes with AVX2 and FMA.

use std::arch::x86_64::*;

use super::Vector;

#[derive(Clone, Copy)]
pub(crate) struct Avx2F32x8(__m256);

/// Also used beside AVX-512, whose 32 registers allow more rows.
#[derive(Clone, Copy)]
pub(crate) struct Avx512F32x8(__m256);

macro_rules! eight_lanes {
    ($name:ident, $rows:literal) => {
        impl Vector for $name {
            const LANES: usize = 8;
            const MAX_ROWS: usize = $rows;

            #[inline(always)]
            unsafe fn splat(value: f32) -> Self {
                Self(unsafe { _mm256_set1_ps(value) })
            }
            #[inline(always)]
            unsafe fn load(from: *const f32) -> Self {
                Self(unsafe { _mm256_loadu_ps(from) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut f32) {
                unsafe { _mm256_storeu_ps(to, self.0) }
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                Self(unsafe { _mm256_add_ps(self.0, other.0) })
            }
            #[inline(always)]
            unsafe fn sub(self, other: Self) -> Self {
                Self(unsafe { _mm256_sub_ps(self.0, other.0) })
            }
            #[inline(always)]
            unsafe fn mul(self, other: Self) -> Self {
                Self(unsafe { _mm256_mul_ps(self.0, other.0) })
            }
            #[inline(always)]
            unsafe fn mul_add(self, factor: Self, summand: Self) -> Self {
                Self(unsafe { _mm256_fmadd_ps(self.0, factor.0, summand.0) })
            }
            #[inline(always)]
            unsafe fn max(self, other: Self) -> Self {
                Self(unsafe { _mm256_max_ps(self.0, other.0) })
            }
            #[inline(always)]
            unsafe fn where_positive(self, mask: Self) -> Self {
                unsafe {
                    let positive = _mm256_cmp_ps::<_CMP_GT_OQ>(mask.0, _mm256_setzero_ps());
                    Self(_mm256_and_ps(self.0, positive))
                }
            }
            #[inline(always)]
            unsafe fn sum(self) -> f32 {
                unsafe {
                    let half = _mm_add_ps(
                        _mm256_castps256_ps128(self.0),
                        _mm256_extractf128_ps::<1>(self.0),
                    );
                    let pair = _mm_add_ps(half, _mm_movehl_ps(half, half));
                    let one = _mm_add_ss(pair, _mm_shuffle_ps::<1>(pair, pair));
                    _mm_cvtss_f32(one)
                }
            }
        }
    };
}

eight_lanes!(Avx2F32x8, 6);
eight_lanes!(Avx512F32x8, 12);
