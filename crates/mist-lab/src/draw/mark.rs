//! Boxes with captions.

use mist_geometry::PixelBox;

use super::caption::{CaptionLayout, caption_scale};
use super::outline::{Line, MarkShape};
use super::{Canvas, Colour};

/// Light that is left on the rim of a line.
const EDGE_FACTOR: f32 = 0.65;

/// Light that is left behind a caption.
const PLATE_FACTOR: f32 = 0.2;

/// A box on an image, with a caption.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Where, in pixels of the image; boxes that are not finite or have no size are not drawn.
    pub bounds: PixelBox,
    /// One line such as `seven 0.93`, or nothing.
    pub caption: String,
    /// Of the box and of the caption.
    pub colour: Colour,
}

impl Canvas {
    /// Draws marks on an image that fills the canvas and was enlarged by `zoom`.
    ///
    /// Lines and letters suit the size of the canvas. Captions stand above their boxes, or inside
    /// where there is no room; they evade each other where they can, and become smaller where they
    /// are many; where they would hide the image even so, they are left out. Where the boxes
    /// would cover the image more than three times over, a cross marks each centre instead, without a
    /// caption.
    pub fn draw_marks(&mut self, marks: &[Mark], zoom: usize) {
        let size_px = (self.width_px(), self.height_px());
        let line = Line::for_picture(size_px);
        let shapes: Vec<(&Mark, MarkShape)> = marks
            .iter()
            .filter_map(|mark| Some((mark, MarkShape::new(mark.bounds, zoom, size_px, line)?)))
            .collect();
        let crowded = MarkShape::is_crowded(shapes.iter().map(|(_, shape)| shape), size_px);
        for (_, shape) in &shapes {
            for edge in shape.edges(line, crowded) {
                self.darken_rect(edge, EDGE_FACTOR);
            }
        }
        for (mark, shape) in &shapes {
            for stroke in shape.strokes(line, crowded) {
                self.fill_rect(stroke, mark.colour);
            }
        }
        if !crowded {
            self.draw_captions(&shapes, line);
        }
    }

    fn draw_captions(&mut self, shapes: &[(&Mark, MarkShape)], line: Line) {
        let size_px = (self.width_px(), self.height_px());
        let captions = || shapes.iter().map(|(mark, _)| mark.caption.as_str());
        let Some(scale) = caption_scale(captions(), size_px) else {
            return;
        };
        let mut layout = CaptionLayout::new(size_px, scale);
        for (mark, shape) in shapes {
            if let Some(caption) = layout.place(&mark.caption, shape.frame, line.width) {
                self.darken_rect(caption.plate, PLATE_FACTOR);
                self.draw_text(&caption.text, caption.text_at, caption.scale, mark.colour);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mist_data::Image;

    use super::*;
    use crate::draw::pixel;

    const GRAY: Colour = Colour([0.5; 3]);

    fn mark(x_px: f32, y_px: f32, side_px: f32, caption: &str) -> Mark {
        Mark {
            bounds: PixelBox::from_centre(x_px, y_px, side_px, side_px),
            caption: caption.into(),
            colour: Colour::CYAN,
        }
    }

    fn drawn(marks: &[Mark], side_px: usize, zoom: usize) -> Image {
        let image = Image::filled(side_px, side_px, 1, 0.5);
        let mut canvas = Canvas::enlarged(&image, zoom).unwrap();
        canvas.draw_marks(marks, zoom);
        canvas.into_image()
    }

    fn places(picture: &Image, matches: impl Fn(Colour) -> bool) -> Vec<(usize, usize)> {
        let all = (0..picture.height_px).flat_map(|y| (0..picture.width_px).map(move |x| (x, y)));
        all.filter(|&(x, y)| matches(pixel(picture, x, y)))
            .collect()
    }

    #[test]
    fn boxes_stand_where_their_bounds_say() {
        // The square of 8 px around (10, 12) is that from (6, 8) to (14, 16).
        let picture = drawn(&[mark(10.0, 12.0, 8.0, "")], 24, 3);
        let lines = places(&picture, |colour| colour == Colour::CYAN);
        assert_eq!(lines.len(), 4 * 23, "one pixel wide");
        assert_eq!((lines[0], lines[lines.len() - 1]), ((18, 24), (41, 47)));
        assert_eq!(pixel(&picture, 19, 25), GRAY);
        assert_eq!(pixel(&picture, 17, 23), Colour([0.5 * EDGE_FACTOR; 3]));
        assert_eq!(pixel(&picture, 16, 22), GRAY);
    }

    #[test]
    fn lines_are_thicker_on_larger_pictures() {
        let thickness = |side_px: usize| {
            let middle = side_px as f32 / 2.0;
            let picture = drawn(&[mark(middle, middle, middle, "")], side_px, 1);
            let row = side_px / 2;
            let across = (0..side_px).filter(|&x| pixel(&picture, x, row) == Colour::CYAN);
            across.count() / 2
        };
        assert_eq!([640, 2000, 4000].map(thickness), [1, 2, 3]);
    }

    #[test]
    fn boxes_are_cut_at_the_edge_and_odd_ones_are_not_drawn() {
        let plain = drawn(&[], 8, 2);
        let invisible = [
            mark(f32::MAX, 0.0, 1.0, "3"),
            mark(-20.0, 4.0, 2.0, "3"),
            mark(4.0, 4.0, f32::MAX, ""),
            mark(4.0, f32::NEG_INFINITY, 2.0, "3"),
            mark(f32::NAN, 4.0, 2.0, "3"),
            mark(4.0, 4.0, f32::NAN, "3"),
            mark(4.0, 4.0, 0.0, "3"),
            mark(4.0, 4.0, -3.0, "3"),
        ];
        let mut half_infinite = mark(4.0, 4.0, 4.0, "3");
        half_infinite.bounds.x_max_px = f32::INFINITY;
        for mark in invisible.iter().chain([&half_infinite]) {
            assert_eq!(drawn(std::slice::from_ref(mark), 8, 2), plain, "{mark:?}");
        }
        // Of the square from (-4, -4) to (4, 4), the right and the lower sides are seen.
        let picture = drawn(&[mark(0.0, 0.0, 8.0, "")], 8, 2);
        let lines = places(&picture, |colour| colour == Colour::CYAN);
        let expected = |&(x, y): &(usize, usize)| (x == 7 && y <= 7) || (y == 7 && x <= 7);
        assert!(lines.iter().all(expected));
        assert_eq!(lines.len(), 15);
    }

    #[test]
    fn tiny_boxes_are_seen() {
        let picture = drawn(&[mark(4.1, 4.1, 0.01, "")], 8, 1);
        assert_eq!(pixel(&picture, 4, 4), Colour::CYAN);
    }

    #[test]
    fn crosses_replace_boxes_that_would_hide_the_image() {
        let seven = mark(100.0, 100.0, 120.0, "seven");
        let few = drawn(&vec![seven.clone(); 8], 200, 1);
        assert_eq!(pixel(&few, 40, 100), Colour::CYAN);
        assert_eq!(pixel(&few, 100, 100), GRAY);
        let many = drawn(&vec![seven; 9], 200, 1);
        let lines = places(&many, |colour| colour == Colour::CYAN);
        assert_eq!(lines.len(), 13, "arms of three pixels");
        assert_eq!((lines[0], lines[12]), ((100, 97), (100, 103)));
    }

    #[test]
    fn a_caption_stands_on_a_dark_plate_above_its_box() {
        let picture = drawn(&[mark(50.0, 50.0, 40.0, "a7")], 100, 6);
        let letters = |colour: Colour| colour == Colour::CYAN;
        let text: Vec<_> = places(&picture, letters)
            .into_iter()
            .filter(|place| place.1 < 180)
            .collect();
        assert!(!text.is_empty());
        assert!(
            text.iter()
                .all(|&(x, y)| (182..220).contains(&x) && (162..178).contains(&y))
        );
        assert_eq!(pixel(&picture, 180, 161), Colour([0.5 * PLATE_FACTOR; 3]));
        let other = drawn(&[mark(50.0, 50.0, 40.0, "a8")], 100, 6);
        assert_ne!(picture, other);
    }

    #[test]
    fn a_caption_without_room_above_stands_inside() {
        let picture = drawn(&[mark(50.0, 20.0, 40.0, "a7")], 100, 6);
        assert_eq!(pixel(&picture, 181, 1), Colour([0.5 * PLATE_FACTOR; 3]));
        let inside = places(&picture, |colour| colour == Colour::CYAN)
            .into_iter()
            .filter(|&(x, y)| (182..230).contains(&x) && (2..30).contains(&y));
        assert!(inside.count() > 50);
    }
}
