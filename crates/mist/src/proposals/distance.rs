//! The distance of every pixel of a shape to what is outside of it (Felzenszwalb and Huttenlocher, 2012).

use super::plane::Plane;

/// Distances, in pixels, of the pixels that are `inside` to the nearest one that is not; beyond the image there is
/// neither. Without any pixel outside, all are `f32::INFINITY`.
pub(super) fn distances(inside: &[bool], width_px: usize) -> Plane {
    let height_px = inside.len() / width_px.max(1);
    let mut squares: Vec<f32> = inside
        .iter()
        .map(|&inside| if inside { f32::INFINITY } else { 0.0 })
        .collect();
    let mut envelope = Envelope::default();
    let mut line = Vec::new();
    for row in squares.chunks_exact_mut(width_px.max(1)) {
        line.clear();
        line.extend_from_slice(row);
        envelope.transform(&line, |place, value| row[place] = value);
    }
    for x in 0..width_px {
        line.clear();
        line.extend((0..height_px).map(|y| squares[y * width_px + x]));
        envelope.transform(&line, |y, value| squares[y * width_px + x] = value);
    }
    Plane {
        values: squares.into_iter().map(f32::sqrt).collect(),
        width_px,
    }
}

/// The lower envelope of parabolas, one over each place of a line.
#[derive(Default)]
struct Envelope {
    /// Places of the parabolas that touch it, and where each begins to.
    parabolas: Vec<(usize, f32)>,
}

impl Envelope {
    /// Calls `put` with `min_p (place - p)^2 + line[p]` for every place.
    fn transform(&mut self, line: &[f32], mut put: impl FnMut(usize, f32)) {
        self.parabolas.clear();
        let height = |place: usize| line[place] + (place * place) as f32;
        for place in (0..line.len()).filter(|&place| line[place].is_finite()) {
            let mut begin = f32::NEG_INFINITY;
            while let Some(&(other, other_begin)) = self.parabolas.last() {
                begin = (height(place) - height(other)) / (2 * (place - other)) as f32;
                if begin > other_begin {
                    break;
                }
                self.parabolas.pop();
                begin = f32::NEG_INFINITY;
            }
            self.parabolas.push((place, begin));
        }
        let mut current = 0;
        for place in 0..line.len() {
            let begins = |next: usize| self.parabolas.get(next).map(|&(_, begin)| begin);
            while begins(current + 1).is_some_and(|begin| begin < place as f32) {
                current += 1;
            }
            let Some(&(lowest, _)) = self.parabolas.get(current) else {
                put(place, f32::INFINITY);
                continue;
            };
            put(place, (place as f32 - lowest as f32).powi(2) + line[lowest]);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn distances_are_those_to_the_nearest_pixel_outside() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        for (width, height) in [(1, 1), (7, 5), (16, 3), (1, 9)] {
            for share in [0.0, 0.2, 0.9, 1.0] {
                let inside: Vec<bool> = (0..width * height)
                    .map(|_| random.random_range(0.0..1.0) < share)
                    .collect();
                let found = distances(&inside, width);
                for (place, &value) in found.values.iter().enumerate() {
                    let to = |other: usize| {
                        let dx = (place % width) as f32 - (other % width) as f32;
                        let dy = (place / width) as f32 - (other / width) as f32;
                        dx.hypot(dy)
                    };
                    let outside = (0..inside.len()).filter(|&other| !inside[other]);
                    let expected = outside.map(to).fold(f32::INFINITY, f32::min);
                    let same = value == expected || (value - expected).abs() < 1e-4;
                    assert!(same, "{value} is not {expected}");
                }
            }
        }
    }
}
