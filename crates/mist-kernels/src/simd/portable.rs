//! Eight lanes in plain Rust: the reference, and the path of every machine without AVX2.

use super::Vector;

#[derive(Clone, Copy)]
pub(crate) struct PortableF32x8([f32; 8]);

impl PortableF32x8 {
    #[inline(always)]
    fn zip(self, other: Self, function: impl Fn(f32, f32) -> f32) -> Self {
        let mut result = self;
        for (a, b) in result.0.iter_mut().zip(other.0) {
            *a = function(*a, b);
        }
        result
    }
}

impl Vector for PortableF32x8 {
    const LANES: usize = 8;
    const MAX_ROWS: usize = 2;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self([value; 8])
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: `from` is valid for `LANES` = 8 values, of any alignment.
        Self(unsafe { from.cast::<[f32; 8]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: `to` is valid for `LANES` = 8 values, of any alignment.
        unsafe { to.cast::<[f32; 8]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, summand: Self) -> Self {
        self.zip(factor, |a, b| a * b).zip(summand, |a, b| a + b)
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| if b > a { b } else { a })
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        self.zip(other, |a, b| if b < a { b } else { a })
    }
    #[inline(always)]
    unsafe fn where_positive(self, mask: Self) -> Self {
        self.zip(mask, |value, mask| if mask > 0.0 { value } else { 0.0 })
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        let [a, b, c, d, e, f, g, h] = self.0;
        ((a + e) + (c + g)) + ((b + f) + (d + h))
    }
}
