//! bf16: the upper half of an f32.

/// The nearest bf16, ties to even, in the upper half; NaN stays NaN.
#[inline(always)]
pub(crate) fn rounded_bits(value: f32) -> u32 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits | 0x0040_0000) & 0xffff_0000;
    }
    let odd = (bits >> 16) & 1;
    (bits + 0x7fff + odd) & 0xffff_0000
}

/// The rounding error.
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
    use crate::simd::{Isa, Kernel, Vector};

    /// Rounds sixteen numbers in every way that vectors can.
    struct Round<'a> {
        from: &'a [f32; 16],
        stored: &'a mut [u16; 16],
        rounded: &'a mut [f32; 16],
        paired: &'a mut [f32; 16],
    }

    impl Kernel for Round<'_> {
        #[inline(always)]
        unsafe fn run<V: Vector>(self) {
            for at in (0..16).step_by(V::LANES) {
                // SAFETY: the lanes divide 16, the length of all four arrays.
                unsafe {
                    let value = V::load(self.from.as_ptr().add(at));
                    value.store_bf16(self.stored.as_mut_ptr().add(at));
                    value.round_bf16().store(self.rounded.as_mut_ptr().add(at));
                    let pair = value.pair_bf16(value);
                    pair.store(self.paired.as_mut_ptr().add(at));
                }
            }
        }
    }

    #[test]
    fn vectors_round_as_single_numbers_do() {
        let tiny = f32::from_bits(1);
        let special = [
            0.0,
            -0.0,
            1.0,
            tiny,
            f32::MAX,
            f32::INFINITY,
            -f32::NAN,
            1e-39,
        ];
        let ties = [0x3f80_8000, 0x3f81_8000, 0x7f80_0001, 0xffff_ffff].map(f32::from_bits);
        let plain = [0.1, -2.7, 3e20, -1.000_001];
        let mut from = [0.0; 16];
        let values = special.into_iter().chain(ties).chain(plain);
        from.iter_mut()
            .zip(values)
            .for_each(|(to, value)| *to = value);
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_present()) {
            for channels in [8, 16] {
                let mut stored = [0; 16];
                let [mut rounded, mut paired] = [[0.0f32; 16]; 2];
                let kernel = Round {
                    from: &from,
                    stored: &mut stored,
                    rounded: &mut rounded,
                    paired: &mut paired,
                };
                // SAFETY: the instruction set is present, and the kernel's arrays have their length by type.
                unsafe { isa.launch(channels, kernel) };
                for at in 0..16 {
                    let bits = rounded_bits(from[at]);
                    assert_eq!(u32::from(stored[at]), bits >> 16, "{isa} {}", from[at]);
                    assert_eq!(rounded[at].to_bits(), bits, "{isa} {}", from[at]);
                    assert_eq!(
                        paired[at].to_bits(),
                        bits | bits >> 16,
                        "{isa} {}",
                        from[at]
                    );
                }
            }
        }
    }

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
