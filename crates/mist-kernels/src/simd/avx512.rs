//! Sixteen lanes with AVX-512.

use std::arch::x86_64::*;

use super::Vector;

#[derive(Clone, Copy)]
pub(crate) struct Avx512F32x16(__m512);

impl Vector for Avx512F32x16 {
    const LANES: usize = 16;
    const MAX_ROWS: usize = 12;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self(unsafe { _mm512_set1_ps(value) })
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        Self(unsafe { _mm512_loadu_ps(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { _mm512_storeu_ps(to, self.0) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self(unsafe { _mm512_add_ps(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        Self(unsafe { _mm512_sub_ps(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        Self(unsafe { _mm512_mul_ps(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, summand: Self) -> Self {
        Self(unsafe { _mm512_fmadd_ps(self.0, factor.0, summand.0) })
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        Self(unsafe { _mm512_max_ps(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn where_positive(self, mask: Self) -> Self {
        unsafe {
            let positive = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(mask.0, _mm512_setzero_ps());
            Self(_mm512_maskz_mov_ps(positive, self.0))
        }
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        unsafe { _mm512_reduce_add_ps(self.0) }
    }
}
