//! What stands around the digits of a scene and is no object.

use crate::bridson::Spot;
use crate::image::Image;
use crate::layout::BASE_BOX_PX;
use crate::mnist::{Digits, FRAME_PX};
use crate::random::SceneRng;
use crate::split::Split;

/// A fragment is cut out again while it holds less ink than this: the value of so many full pixels.
const LEAST_INK: f32 = 6.0;
/// How often a fragment or its place are drawn again at most.
const TRIES: usize = 20;
/// Cells of the coarsest and of the finest octave of a texture.
const OCTAVES_PX: [usize; 5] = [32, 16, 8, 4, 2];
/// How much weaker each octave is than the one twice as coarse: the spectrum of natural images falls as 1 / f.
const OCTAVE_FALL: f32 = 0.6;

/// What is drawn beside the objects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Surroundings {
    /// Black.
    Empty,
    /// Square pieces of other digits, as in the cluttered MNIST of the attention papers.
    Fragments { count: usize, side_px: usize },
    /// Noise whose spectrum falls as that of natural images; the objects are brighter than it by `contrast` of the range.
    Texture { contrast: f32, deviation: f32 },
}

impl Surroundings {
    /// Draws them into an image that holds the objects, with values from 0 to 255 and beyond.
    pub fn add(
        self,
        image: &mut Image,
        objects: &[Spot],
        digits: &Digits,
        split: Split,
        rng: &mut SceneRng,
    ) {
        match self {
            Surroundings::Empty => {}
            Surroundings::Fragments { count, side_px } => {
                for _ in 0..count {
                    let place = free_corner(image, objects, side_px, rng);
                    add_fragment(image, place, side_px, digits, split, rng);
                }
            }
            Surroundings::Texture {
                contrast,
                deviation,
            } => {
                let texture = texture(image, rng);
                for (value, texture) in image.pixels.iter_mut().zip(texture) {
                    let ink = value.min(255.0) * contrast;
                    *value = (127.5 + 255.0 * deviation * texture + ink).max(0.0);
                }
            }
        }
    }
}

/// Left and top of a fragment whose middle is outside the objects' boxes, so that they can still be read; anywhere after
/// some tries, for images that are full.
fn free_corner(
    image: &Image,
    objects: &[Spot],
    side_px: usize,
    rng: &mut SceneRng,
) -> (usize, usize) {
    let mut corner = (0, 0);
    for _ in 0..TRIES {
        corner = (
            rng.below(image.width_px - side_px + 1),
            rng.below(image.height_px - side_px + 1),
        );
        let middle = |start_px: usize| (start_px + side_px / 2) as i32;
        let hides = |object: &Spot| {
            let (x_px, y_px) = (
                middle(corner.0) - object.x_px,
                middle(corner.1) - object.y_px,
            );
            x_px.abs().max(y_px.abs()) <= BASE_BOX_PX / 2
        };
        if !objects.iter().any(hides) {
            break;
        }
    }
    corner
}

/// Adds a piece of some digit.
fn add_fragment(
    image: &mut Image,
    (left_px, top_px): (usize, usize),
    side_px: usize,
    digits: &Digits,
    split: Split,
    rng: &mut SceneRng,
) {
    let frame = digits.draw(split, rng).frame;
    let mut corner = (0, 0);
    for _ in 0..TRIES {
        let mut start = || rng.below(FRAME_PX - side_px + 1);
        corner = (start(), start());
        let rows = frame.chunks(FRAME_PX).skip(corner.1).take(side_px);
        let ink: f32 = rows
            .flat_map(|row| &row[corner.0..corner.0 + side_px])
            .map(|&byte| f32::from(byte) / 255.0)
            .sum();
        if ink >= LEAST_INK {
            break;
        }
    }
    for row in 0..side_px {
        let source = &frame[(corner.1 + row) * FRAME_PX + corner.0..][..side_px];
        let start = image.offset(left_px, top_px + row, 0);
        for (value, &byte) in image.pixels[start..].iter_mut().zip(source) {
            *value += f32::from(byte);
        }
    }
}

/// Noise of about unit variance, `[height, width]`: octaves of random values with smooth transitions between them.
fn texture(image: &Image, rng: &mut SceneRng) -> Vec<f32> {
    let mut sum = vec![0.0; image.width_px * image.height_px];
    let (mut weight, mut power) = (1.0_f32, 0.0);
    for cell_px in OCTAVES_PX {
        add_octave(&mut sum, image.width_px, cell_px, weight, rng);
        power += weight * weight;
        weight *= OCTAVE_FALL;
    }
    // Interpolation halves the variance, roughly, along both axes together.
    let scale = (2.0 / power).sqrt();
    for value in &mut sum {
        *value *= scale;
    }
    sum
}

fn add_octave(sum: &mut [f32], width_px: usize, cell_px: usize, weight: f32, rng: &mut SceneRng) {
    let height_px = sum.len() / width_px;
    let columns = width_px / cell_px + 3;
    let rows = height_px / cell_px + 3;
    let mut lattice = Vec::with_capacity(rows * columns + 1);
    while lattice.len() < rows * columns {
        lattice.extend(rng.normals());
    }
    // Each scene has another corner of the lattice, so that no pixel is always a lattice point.
    let offset = [rng.below(cell_px), rng.below(cell_px)];
    let smooth = |position: usize| {
        let (cell, within) = (position / cell_px, position % cell_px);
        let t = (within as f32 + 0.5) / cell_px as f32;
        (cell, t * t * (3.0 - 2.0 * t))
    };
    for (y, line) in sum.chunks_mut(width_px).enumerate() {
        let (row, down) = smooth(y + offset[1]);
        for (x, value) in line.iter_mut().enumerate() {
            let (column, right) = smooth(x + offset[0]);
            let at = |row: usize, column: usize| lattice[row * columns + column];
            let above = at(row, column) * (1.0 - right) + at(row, column + 1) * right;
            let below = at(row + 1, column) * (1.0 - right) + at(row + 1, column + 1) * right;
            *value += weight * (above * (1.0 - down) + below * down);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mnist::synthetic;

    const SIDE: usize = 80;

    fn scene(surroundings: Surroundings, index: u64) -> Image {
        let mut image = Image::filled(SIDE, SIDE, 1, 0.0);
        let mut rng = SceneRng::new("test", 1, Split::Train, index);
        surroundings.add(&mut image, &[], &synthetic(), Split::Train, &mut rng);
        image
    }

    #[test]
    fn fragments_are_small_and_many() {
        let fragments = |count| Surroundings::Fragments { count, side_px: 8 };
        let ink = |count| -> f32 {
            let sums =
                (0..50).map(|index| scene(fragments(count), index).pixels.iter().sum::<f32>());
            sums.sum::<f32>() / 50.0 / 255.0
        };
        assert_eq!(
            scene(Surroundings::Empty, 1).pixels.iter().sum::<f32>(),
            0.0
        );
        let (one, ten) = (ink(1), ink(10));
        assert!((LEAST_INK..=64.0).contains(&one), "{one}");
        assert!((ten / one / 10.0 - 1.0).abs() < 0.15, "{ten} {one}");
    }

    #[test]
    fn textures_have_the_asked_deviation_and_a_falling_spectrum() {
        let texture = Surroundings::Texture {
            contrast: 0.3,
            deviation: 0.1,
        };
        let (mut squares, mut near, mut far) = (0.0, 0.0, 0.0);
        for index in 0..40 {
            let image = scene(texture, index);
            let at = |x: usize, y: usize| f64::from(image.pixels[y * SIDE + x]) / 255.0 - 0.5;
            for y in 0..SIDE {
                for x in 0..SIDE - 24 {
                    squares += at(x, y).powi(2);
                    near += at(x, y) * at(x + 2, y);
                    far += at(x, y) * at(x + 24, y);
                }
            }
        }
        let count = (40 * SIDE * (SIDE - 24)) as f64;
        let deviation = (squares / count).sqrt();
        assert!((deviation - 0.1).abs() < 0.02, "{deviation}");
        assert!(near / squares > 0.7 && far / squares < 0.5 * near / squares);
    }
}
