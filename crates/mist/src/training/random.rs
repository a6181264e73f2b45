//! Random numbers of a step.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Numbers that an image may use up before those of the next begin.
const STRETCH_BITS: u32 = 32;

/// What is drawn for one image of a batch, the same wherever the other images are.
pub(crate) fn random_of_image(seed: u64, stream: u64, image: usize) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    random.set_word_pos((image as u128) << STRETCH_BITS);
    random
}

#[cfg(test)]
mod tests {
    use rand::rand_core::Rng;

    use super::*;

    #[test]
    fn images_have_numbers_of_their_own() {
        let first = |stream, image| random_of_image(7, stream, image).next_u64();
        let mut plain = ChaCha8Rng::seed_from_u64(7);
        plain.set_stream(3);
        assert_eq!(first(3, 0), plain.next_u64());
        assert!(first(3, 0) != first(3, 1) && first(3, 1) != first(4, 1));
        assert_eq!(first(3, 1), first(3, 1));
    }
}
