//! One image with its marks.

use mist_data::Image;

use super::{Canvas, DrawError, Mark};

/// The longer side of a picture that is large enough to look at.
const COMFORTABLE_SIDE_PX: usize = 600;

/// The whole factor that brings an image's longer side to 600 px or more; 1 for larger images.
pub fn choose_zoom(image: &Image) -> usize {
    let longer_px = image.width_px.max(image.height_px).max(1);
    COMFORTABLE_SIDE_PX.div_ceil(longer_px)
}

/// Marks on an image, which is enlarged where it is small (see [`choose_zoom`]).
pub fn overlay(image: &Image, marks: &[Mark]) -> Result<Image, DrawError> {
    let zoom = choose_zoom(image);
    let mut canvas = Canvas::enlarged(image, zoom)?;
    canvas.draw_marks(marks, zoom);
    Ok(canvas.into_image())
}

#[cfg(test)]
mod tests {
    use mist_geometry::PixelBox;

    use super::*;
    use crate::draw::{Colour, pixel};

    #[test]
    fn small_images_are_enlarged_to_a_size_to_look_at() {
        let zoom = |width_px, height_px| choose_zoom(&Image::filled(width_px, height_px, 1, 0.0));
        assert_eq!(zoom(80, 80), 8);
        assert_eq!(zoom(128, 600), 1);
        assert_eq!(zoom(300, 10), 2);
        assert_eq!(zoom(4000, 3000), 1);
        assert_eq!(zoom(0, 0), 600);
    }

    #[test]
    fn marks_are_enlarged_with_the_image() {
        let mark = Mark {
            bounds: PixelBox::from_centre(40.0, 40.0, 20.0, 20.0),
            caption: String::new(),
            colour: Colour::ORANGE,
        };
        let picture = overlay(&Image::filled(80, 80, 1, 0.5), &[mark]).unwrap();
        assert_eq!((picture.width_px, picture.height_px), (640, 640));
        assert_eq!(pixel(&picture, 240, 240), Colour::ORANGE);
        assert_eq!(pixel(&picture, 399, 399), Colour::ORANGE);
        assert!(overlay(&Image::filled(0, 0, 1, 0.0), &[]).is_err());
    }
}
