//! Sixteen lanes with AVX-512.

use std::arch::x86_64::*;

use super::Vector;

#[derive(Clone, Copy)]
pub(crate) struct Avx512F32x16(__m512);

/// Arithmetic of one intrinsic on whole registers.
macro_rules! lanewise {
    ($($name:ident($($other:ident),+) = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(self, $($other: Self),+) -> Self {
            // SAFETY: AVX-512 F is present, as `Vector` requires.
            Self(unsafe { $intrinsic(self.0, $($other.0),+) })
        }
    )*};
}

impl Vector for Avx512F32x16 {
    const LANES: usize = 16;
    const MAX_ROWS: usize = 12;

    lanewise! {
        add(other) = _mm512_add_ps;
        sub(other) = _mm512_sub_ps;
        mul(other) = _mm512_mul_ps;
        mul_add(factor, summand) = _mm512_fmadd_ps;
    }

    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        // The instruction returns its second operand where one is NaN.
        // SAFETY: AVX-512 F is present, as `Vector` requires.
        Self(unsafe { _mm512_max_ps(other.0, self.0) })
    }

    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        // SAFETY: AVX-512 F is present, as `Vector` requires.
        Self(unsafe { _mm512_min_ps(other.0, self.0) })
    }

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        // SAFETY: AVX-512 F is present, as `Vector` requires.
        Self(unsafe { _mm512_set1_ps(value) })
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: `from` is valid for 16 values, and the load is unaligned.
        Self(unsafe { _mm512_loadu_ps(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: `to` is valid for 16 values, and the store is unaligned.
        unsafe { _mm512_storeu_ps(to, self.0) }
    }
    #[inline(always)]
    unsafe fn where_positive(self, mask: Self) -> Self {
        // SAFETY: AVX-512 F is present, as `Vector` requires.
        unsafe {
            let positive = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(mask.0, _mm512_setzero_ps());
            Self(_mm512_maskz_mov_ps(positive, self.0))
        }
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        // SAFETY: AVX-512 F is present, as `Vector` requires.
        unsafe { _mm512_reduce_add_ps(self.0) }
    }
    #[inline(always)]
    unsafe fn round_bf16(self) -> Self {
        // SAFETY: AVX-512 F is present, as `Vector` requires.
        Self(unsafe { _mm512_castsi512_ps(rounded(self.0)) })
    }
    #[inline(always)]
    unsafe fn store_bf16(self, to: *mut u16) {
        // SAFETY: `to` is valid for 16 values of 16 bits, and the store of 256 bits is unaligned.
        unsafe {
            let halves = _mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(rounded(self.0)));
            _mm256_storeu_si256(to.cast(), halves);
        }
    }
    #[inline(always)]
    unsafe fn pair_bf16(self, high: Self) -> Self {
        // SAFETY: AVX-512 F is present, as `Vector` requires.
        unsafe {
            let low = _mm512_srli_epi32::<16>(rounded(self.0));
            Self(_mm512_castsi512_ps(_mm512_or_si512(low, rounded(high.0))))
        }
    }
    #[inline(always)]
    unsafe fn transpose(from: *const f32, from_step: usize, to: *mut f32, to_step: usize) {
        // SAFETY: each load and store is a whole row, with an index below 16, of the caller's squares.
        unsafe {
            let mut rows = [_mm512_setzero_ps(); 16];
            for (index, row) in rows.iter_mut().enumerate() {
                *row = _mm512_loadu_ps(from.add(index * from_step));
            }
            // Pairs of rows, then pairs of pairs, then quarters of registers twice.
            let mut pairs = rows;
            for at in (0..16).step_by(2) {
                pairs[at] = _mm512_unpacklo_ps(rows[at], rows[at + 1]);
                pairs[at + 1] = _mm512_unpackhi_ps(rows[at], rows[at + 1]);
            }
            let mut fours = rows;
            for at in (0..16).step_by(4) {
                for half in 0..2 {
                    let (a, b) = (pairs[at + half], pairs[at + 2 + half]);
                    fours[at + 2 * half] = paired(a, b, false);
                    fours[at + 2 * half + 1] = paired(a, b, true);
                }
            }
            for column in 0..4 {
                let (a, b) = (fours[column], fours[4 + column]);
                let (c, d) = (fours[8 + column], fours[12 + column]);
                let near = [
                    _mm512_shuffle_f32x4::<0x88>(a, b),
                    _mm512_shuffle_f32x4::<0xdd>(a, b),
                ];
                let far = [
                    _mm512_shuffle_f32x4::<0x88>(c, d),
                    _mm512_shuffle_f32x4::<0xdd>(c, d),
                ];
                for half in 0..2 {
                    let low = _mm512_shuffle_f32x4::<0x88>(near[half], far[half]);
                    let high = _mm512_shuffle_f32x4::<0xdd>(near[half], far[half]);
                    let row = column + 4 * half;
                    _mm512_storeu_ps(to.add(row * to_step), low);
                    _mm512_storeu_ps(to.add((row + 8) * to_step), high);
                }
            }
        }
    }
}

/// As [`super::bf16::rounded_bits`].
///
/// # Safety
/// AVX-512 F is present.
#[inline(always)]
unsafe fn rounded(value: __m512) -> __m512i {
    // SAFETY: AVX-512 F is present.
    unsafe {
        let bits = _mm512_castps_si512(value);
        let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
        let up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
        let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(value, value);
        let quiet = _mm512_set1_epi32(0x0040_0000);
        let whole = _mm512_mask_or_epi32(up, nan, bits, quiet);
        _mm512_and_si512(whole, _mm512_set1_epi32(0xffff_0000_u32 as i32))
    }
}

/// The lower or upper pairs of lanes of two registers, in turn.
///
/// # Safety
/// AVX-512 F is present.
#[inline(always)]
unsafe fn paired(a: __m512, b: __m512, upper: bool) -> __m512 {
    // SAFETY: AVX-512 F is present.
    unsafe {
        let (a, b) = (_mm512_castps_pd(a), _mm512_castps_pd(b));
        _mm512_castpd_ps(match upper {
            false => _mm512_unpacklo_pd(a, b),
            true => _mm512_unpackhi_pd(a, b),
        })
    }
}
