//! The upper half of an f32 as a number of its own.

/// The nearest bf16, ties to even, in the upper half; not-a-number stays one.
#[inline(always)]
pub(crate) fn rounded_bits(value: f32) -> u32 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits | 0x0040_0000) & 0xffff_0000;
    }
    let odd = (bits >> 16) & 1;
    (bits + 0x7fff + odd) & 0xffff_0000
}

/// What rounding leaves over.
#[inline(always)]
pub(crate) fn residue(value: f32) -> f32 {
    value - f32::from_bits(rounded_bits(value))
}

/// Two numbers rounded to bf16, the first in the lower half.
#[inline(always)]
pub(crate) fn pair(low: f32, high: f32) -> u32 {
    (rounded_bits(low) >> 16) | rounded_bits(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_even_and_the_rest_to_the_nearest() {
        let rounded = |bits: u32| rounded_bits(f32::from_bits(bits));
        assert_eq!(rounded(0x3f80_8000), 0x3f80_0000);
        assert_eq!(rounded(0x3f81_8000), 0x3f82_0000);
        assert_eq!(rounded(0x3f80_8001), 0x3f81_0000);
        assert_eq!(rounded(0xbf80_7fff), 0xbf80_0000);
        assert_eq!(rounded(0x7f7f_ffff), 0x7f80_0000);
    }

    #[test]
    fn what_is_not_a_number_stays_so() {
        for bits in [0x7f80_0001, 0xffff_ffff, 0x7fc0_0000] {
            assert!(f32::from_bits(rounded_bits(f32::from_bits(bits))).is_nan());
        }
        assert_eq!(rounded_bits(f32::NEG_INFINITY), 0xff80_0000);
    }
}
