//! Eight lanes with AVX2 and FMA.

use std::arch::x86_64::*;

use super::Vector;

#[derive(Clone, Copy)]
pub(crate) struct Avx2F32x8(__m256);

/// Also used beside AVX-512, whose 32 registers allow more rows.
#[derive(Clone, Copy)]
pub(crate) struct Avx512F32x8(__m256);

/// Arithmetic of one intrinsic on whole registers.
macro_rules! lanewise {
    ($($name:ident($($other:ident),+) = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(self, $($other: Self),+) -> Self {
            // SAFETY: AVX2 and FMA are present, as `Vector` requires.
            Self(unsafe { $intrinsic(self.0, $($other.0),+) })
        }
    )*};
}

macro_rules! eight_lanes {
    ($name:ident, $rows:literal) => {
        impl Vector for $name {
            const LANES: usize = 8;
            const MAX_ROWS: usize = $rows;

            lanewise! {
                add(other) = _mm256_add_ps;
                sub(other) = _mm256_sub_ps;
                mul(other) = _mm256_mul_ps;
                mul_add(factor, summand) = _mm256_fmadd_ps;
            }

            #[inline(always)]
            unsafe fn max(self, other: Self) -> Self {
                // The instruction returns its second operand where one is NaN.
                // SAFETY: AVX2 is present, as `Vector` requires.
                Self(unsafe { _mm256_max_ps(other.0, self.0) })
            }

            #[inline(always)]
            unsafe fn min(self, other: Self) -> Self {
                // SAFETY: AVX2 is present, as `Vector` requires.
                Self(unsafe { _mm256_min_ps(other.0, self.0) })
            }

            #[inline(always)]
            unsafe fn splat(value: f32) -> Self {
                // SAFETY: AVX2 is present, as `Vector` requires.
                Self(unsafe { _mm256_set1_ps(value) })
            }
            #[inline(always)]
            unsafe fn load(from: *const f32) -> Self {
                // SAFETY: `from` is valid for 8 values, and the load is unaligned.
                Self(unsafe { _mm256_loadu_ps(from) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut f32) {
                // SAFETY: `to` is valid for 8 values, and the store is unaligned.
                unsafe { _mm256_storeu_ps(to, self.0) }
            }
            #[inline(always)]
            unsafe fn where_positive(self, mask: Self) -> Self {
                // SAFETY: AVX2 is present, as `Vector` requires.
                unsafe {
                    let positive = _mm256_cmp_ps::<_CMP_GT_OQ>(mask.0, _mm256_setzero_ps());
                    Self(_mm256_and_ps(self.0, positive))
                }
            }
            #[inline(always)]
            unsafe fn round_bf16(self) -> Self {
                // SAFETY: AVX2 is present, as `Vector` requires.
                Self(unsafe { _mm256_castsi256_ps(rounded(self.0)) })
            }
            #[inline(always)]
            unsafe fn store_bf16(self, to: *mut u16) {
                // SAFETY: `to` is valid for 8 values of 16 bits, and the store of 128 bits is unaligned.
                unsafe {
                    let halves = _mm256_srli_epi32::<16>(rounded(self.0));
                    // Packing works within halves of the register, whose results are then joined.
                    let packed = _mm256_packus_epi32(halves, halves);
                    let joined = _mm256_permute4x64_epi64::<0b1000>(packed);
                    _mm_storeu_si128(to.cast(), _mm256_castsi256_si128(joined));
                }
            }
            #[inline(always)]
            unsafe fn pair_bf16(self, high: Self) -> Self {
                // SAFETY: AVX2 is present, as `Vector` requires.
                unsafe {
                    let low = _mm256_srli_epi32::<16>(rounded(self.0));
                    Self(_mm256_castsi256_ps(_mm256_or_si256(low, rounded(high.0))))
                }
            }
            #[inline(always)]
            unsafe fn transpose(from: *const f32, from_step: usize, to: *mut f32, to_step: usize) {
                // SAFETY: the caller's squares are those of `Vector::transpose` with 8 lanes.
                unsafe { transpose(from, from_step, to, to_step) }
            }
            #[inline(always)]
            unsafe fn sum(self) -> f32 {
                // SAFETY: AVX2, and with it SSE and AVX, is present, as `Vector` requires.
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

/// As [`super::bf16::rounded_bits`].
///
/// # Safety
/// AVX2 is present.
#[inline(always)]
unsafe fn rounded(value: __m256) -> __m256i {
    // SAFETY: AVX2 is present.
    unsafe {
        let bits = _mm256_castps_si256(value);
        let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
        let up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
        let nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(value, value));
        let quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x0040_0000));
        let whole = _mm256_blendv_epi8(up, quiet, nan);
        _mm256_and_si256(whole, _mm256_set1_epi32(0xffff_0000_u32 as i32))
    }
}

/// See [`Vector::transpose`].
///
/// # Safety
/// AVX2 is present; `from` and `to` are valid for 8 rows of 8 values, `from_step` and `to_step` values apart.
#[inline(always)]
unsafe fn transpose(from: *const f32, from_step: usize, to: *mut f32, to_step: usize) {
    // SAFETY: each load and store is a whole row, with an index below 8, of the caller's squares.
    unsafe {
        let mut rows = [_mm256_setzero_ps(); 8];
        for (index, row) in rows.iter_mut().enumerate() {
            *row = _mm256_loadu_ps(from.add(index * from_step));
        }
        // Pairs of rows, then pairs of pairs, then halves of registers.
        let mut pairs = rows;
        for at in (0..8).step_by(2) {
            pairs[at] = _mm256_unpacklo_ps(rows[at], rows[at + 1]);
            pairs[at + 1] = _mm256_unpackhi_ps(rows[at], rows[at + 1]);
        }
        let mut fours = rows;
        for at in (0..8).step_by(4) {
            for half in 0..2 {
                let (a, b) = (pairs[at + half], pairs[at + 2 + half]);
                fours[at + 2 * half] = _mm256_shuffle_ps::<0x44>(a, b);
                fours[at + 2 * half + 1] = _mm256_shuffle_ps::<0xee>(a, b);
            }
        }
        for column in 0..4 {
            let (near, far) = (fours[column], fours[4 + column]);
            let low = _mm256_permute2f128_ps::<0x20>(near, far);
            let high = _mm256_permute2f128_ps::<0x31>(near, far);
            _mm256_storeu_ps(to.add(column * to_step), low);
            _mm256_storeu_ps(to.add((column + 4) * to_step), high);
        }
    }
}
