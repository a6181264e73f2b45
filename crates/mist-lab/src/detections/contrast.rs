//! Whether there is anything to see in a box.

use mist::geometry::PixelBox;
use mist_data::Image;

use super::pictures::crop;

/// One step of an 8-bit image.
const LEAST_CONTRAST: f32 = 1.0 / 255.0;

/// Whether the pixels of a box differ in any channel: the detector's norms make much of little, so that it also responds
/// somewhere in an image of one colour.
pub(super) fn shows_something(image: &Image, bounds: PixelBox) -> bool {
    let Some(seen) = crop(image, bounds) else {
        return false;
    };
    let area = (seen.width_px * seen.height_px).max(1);
    seen.pixels.chunks_exact(area).any(|plane| {
        let least = plane.iter().copied().fold(f32::INFINITY, f32::min);
        let most = plane.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        most - least >= LEAST_CONTRAST
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_colour_shows_nothing() {
        let mut image = Image::filled(9, 9, 3, 0.5);
        let bounds = PixelBox::from_centre(4.5, 4.5, 4.0, 4.0);
        assert!(!shows_something(&image, bounds));
        let place = image.offset(4, 4, 2);
        image.pixels[place] = 0.6;
        assert!(shows_something(&image, bounds));
        assert!(!shows_something(
            &image,
            PixelBox::from_centre(-50.0, 4.5, 4.0, 4.0)
        ));
    }
}
