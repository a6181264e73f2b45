//! The picture that everything is drawn on.

use std::ops::Range;

use mist_data::Image;

use super::rect::Rect;
use super::{Colour, DrawError, heat};

/// Pixels of a picture at most: pictures are for screens, and this is some twenty of them.
pub const MAX_SHEET_PX: usize = 1 << 26;

/// One value per pixel, row after row; where values are missing, black is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane<'a> {
    /// `height_px * width_px` values.
    pub values: &'a [f32],
    /// Columns.
    pub width_px: usize,
    /// Rows.
    pub height_px: usize,
}

/// An RGB picture to draw on, with values in `[0, 1]`.
///
/// Positions are canvas pixels, x before y; what would fall outside is cut off. Values outside
/// `[0, 1]` are clipped and values that are not finite count as zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Canvas {
    /// Of three channels.
    image: Image,
}

impl Canvas {
    /// A canvas of one colour.
    pub fn new(width_px: usize, height_px: usize, colour: Colour) -> Result<Self, DrawError> {
        let mut canvas = Self::blank(width_px, height_px, MAX_SHEET_PX)?;
        canvas.fill(0..width_px, 0..height_px, colour);
        Ok(canvas)
    }

    /// A gray or RGB image, each pixel of which becomes a square of `zoom * zoom` pixels.
    ///
    /// An image that is not enlarged may exceed [`MAX_SHEET_PX`].
    pub fn enlarged(image: &Image, zoom: usize) -> Result<Self, DrawError> {
        let width_px = image.width_px.saturating_mul(zoom);
        let height_px = image.height_px.saturating_mul(zoom);
        let limit_px = MAX_SHEET_PX.max(image.pixels.len() / image.channels.max(1));
        let mut canvas = Self::blank(width_px, height_px, limit_px)?;
        canvas.draw_image(image, (0, 0), zoom);
        Ok(canvas)
    }

    fn blank(width_px: usize, height_px: usize, limit_px: usize) -> Result<Self, DrawError> {
        Self::check_size(width_px, height_px, limit_px)?;
        let image = Image::filled(width_px, height_px, 3, 0.0);
        Ok(Self { image })
    }

    pub(super) fn check_size(
        width_px: usize,
        height_px: usize,
        limit_px: usize,
    ) -> Result<(), DrawError> {
        if width_px == 0 || height_px == 0 {
            return Err(DrawError::Empty {
                width_px,
                height_px,
            });
        }
        if width_px.saturating_mul(height_px) > limit_px {
            return Err(DrawError::TooLarge {
                width_px,
                height_px,
            });
        }
        Ok(())
    }

    /// Columns.
    pub fn width_px(&self) -> usize {
        self.image.width_px
    }

    /// Rows.
    pub fn height_px(&self) -> usize {
        self.image.height_px
    }

    /// The picture, of three channels.
    pub fn into_image(self) -> Image {
        self.image
    }

    /// Paints a rectangle.
    pub fn fill(&mut self, xs: Range<usize>, ys: Range<usize>, colour: Colour) {
        let xs = xs.start..xs.end.min(self.width_px());
        let ys = ys.start..ys.end.min(self.height_px());
        for (channel, value) in colour.0.into_iter().enumerate() {
            let value = in_range(value);
            self.for_rows(&xs, &ys, channel, |row| row.fill(value));
        }
    }

    pub(super) fn fill_rect(&mut self, rect: Rect, colour: Colour) {
        if let Some((xs, ys)) = rect.clipped(self.width_px(), self.height_px()) {
            self.fill(xs, ys, colour);
        }
    }

    /// Multiplies the light of a rectangle by a factor in `[0, 1]`.
    pub(super) fn darken_rect(&mut self, rect: Rect, factor: f32) {
        let Some((xs, ys)) = rect.clipped(self.width_px(), self.height_px()) else {
            return;
        };
        for channel in 0..3 {
            self.for_rows(&xs, &ys, channel, |row| {
                for value in row {
                    *value *= factor;
                }
            });
        }
    }

    /// Calls `change` with the columns `xs` of each of the rows `ys`, which lie within the canvas.
    fn for_rows(
        &mut self,
        xs: &Range<usize>,
        ys: &Range<usize>,
        channel: usize,
        mut change: impl FnMut(&mut [f32]),
    ) {
        if xs.is_empty() {
            return;
        }
        for y in ys.clone() {
            let start = self.image.offset(xs.start, y, channel);
            change(&mut self.image.pixels[start..][..xs.len()]);
        }
    }

    /// Copies a gray or RGB image to where its top-left corner shall be.
    pub fn blit(&mut self, image: &Image, at_px: (usize, usize)) {
        self.draw_image(image, at_px, 1);
    }

    /// Draws a gray or RGB image, enlarged by a whole factor.
    pub fn draw_image(&mut self, image: &Image, at_px: (usize, usize), zoom: usize) {
        let area = image.width_px.saturating_mul(image.height_px);
        let planes = [0, 1, 2].map(|channel: usize| {
            let channel = channel.min(image.channels.saturating_sub(1));
            let start = channel.saturating_mul(area).min(image.pixels.len());
            &image.pixels[start..]
        });
        self.draw_planes(planes, (image.width_px, image.height_px), at_px, zoom);
    }

    /// Draws gray values in `[0, 1]`, enlarged by a whole factor.
    pub fn draw_gray(&mut self, plane: Plane, at_px: (usize, usize), zoom: usize) {
        let size_px = (plane.width_px, plane.height_px);
        self.draw_planes([plane.values; 3], size_px, at_px, zoom);
    }

    /// Draws nonnegative values in the colours of "inferno", enlarged by a whole factor.
    ///
    /// The colours span from zero to the plane's own maximum: they show where the mass is, not how
    /// much there is.
    pub fn draw_heat(&mut self, plane: Plane, at_px: (usize, usize), zoom: usize) {
        let channels = heat::colours(plane);
        let planes = [0, 1, 2].map(|channel: usize| channels[channel].as_slice());
        self.draw_planes(planes, (plane.width_px, plane.height_px), at_px, zoom);
    }

    fn draw_planes(
        &mut self,
        planes: [&[f32]; 3],
        (width_px, height_px): (usize, usize),
        (left_px, top_px): (usize, usize),
        zoom: usize,
    ) {
        let stride = self.width_px();
        let across_px = width_px.saturating_mul(zoom);
        let across_px = across_px.min(stride.saturating_sub(left_px));
        let down_px = height_px.saturating_mul(zoom);
        let down_px = down_px.min(self.height_px().saturating_sub(top_px));
        if across_px == 0 || down_px == 0 {
            return;
        }
        let columns = across_px.div_ceil(zoom);
        for (channel, plane) in planes.into_iter().enumerate() {
            for y_px in 0..down_px.div_ceil(zoom) {
                let start = y_px.saturating_mul(width_px).min(plane.len());
                let values = &plane[start..(start + columns).min(plane.len())];
                let first = self.image.offset(left_px, top_px + y_px * zoom, channel);
                let row = first..first + across_px;
                enlarge_row(values, zoom, &mut self.image.pixels[row.clone()]);
                for copy in 1..zoom.min(down_px - y_px * zoom) {
                    let to = first + copy * stride;
                    self.image.pixels.copy_within(row.clone(), to);
                }
            }
        }
    }
}

fn enlarge_row(values: &[f32], zoom: usize, row: &mut [f32]) {
    if zoom == 1 {
        for (to, &value) in row.iter_mut().zip(values) {
            *to = in_range(value);
        }
    } else {
        for (to, &value) in row.chunks_mut(zoom).zip(values) {
            to.fill(in_range(value));
        }
    }
    let drawn = values.len().saturating_mul(zoom).min(row.len());
    row[drawn..].fill(0.0);
}

fn in_range(value: f32) -> f32 {
    if value.is_finite() {
        value.clamp(0.0, 1.0)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::pixel;

    fn ramp(width_px: usize, height_px: usize, channels: usize) -> Image {
        let mut image = Image::filled(width_px, height_px, channels, 0.0);
        let count = image.pixels.len() as f32;
        for (place, value) in image.pixels.iter_mut().enumerate() {
            *value = place as f32 / count;
        }
        image
    }

    #[test]
    fn each_pixel_becomes_a_square() {
        for channels in [1, 3] {
            let image = ramp(4, 3, channels);
            let picture = Canvas::enlarged(&image, 5).unwrap().into_image();
            assert_eq!((picture.width_px, picture.height_px), (20, 15));
            for (x, y) in [(0, 0), (4, 4), (5, 4), (19, 14), (7, 11)] {
                let of = |channel: usize| image.pixels[image.offset(x / 5, y / 5, channel)];
                let expected = [0, 1, 2].map(|channel: usize| of(channel.min(channels - 1)));
                assert_eq!(pixel(&picture, x, y), Colour(expected));
            }
        }
    }

    #[test]
    fn an_image_that_is_not_enlarged_stays_as_it_is() {
        let image = ramp(7, 5, 3);
        assert_eq!(Canvas::enlarged(&image, 1).unwrap().into_image(), image);
    }

    #[test]
    fn what_is_outside_is_cut_off() {
        let mut canvas = Canvas::new(6, 4, Colour::BLACK).unwrap();
        canvas.draw_image(&Image::filled(3, 3, 1, 1.0), (4, 1), 2);
        canvas.blit(&Image::filled(3, 3, 3, 0.5), (usize::MAX, 9));
        canvas.fill(1..usize::MAX, 3..usize::MAX, Colour::CYAN);
        canvas.fill(9..12, 9..12, Colour::CYAN);
        let picture = canvas.into_image();
        assert_eq!(pixel(&picture, 3, 1), Colour::BLACK);
        assert_eq!(pixel(&picture, 4, 1), Colour::WHITE);
        assert_eq!(pixel(&picture, 5, 2), Colour::WHITE);
        assert_eq!(pixel(&picture, 0, 3), Colour::BLACK);
        assert_eq!(pixel(&picture, 1, 3), Colour::CYAN);
    }

    #[test]
    fn odd_values_do_no_harm() {
        let values = [f32::NAN, f32::INFINITY, 2.0, -1.0, 0.25];
        let plane = Plane {
            values: &values,
            width_px: 2,
            height_px: 4,
        };
        let mut canvas = Canvas::new(4, 4, Colour([f32::NAN, 7.0, 0.5])).unwrap();
        assert_eq!(pixel(&canvas.image, 3, 3), Colour([0.0, 1.0, 0.5]));
        canvas.draw_gray(plane, (0, 0), 1);
        canvas.draw_heat(plane, (2, 0), 1);
        canvas.draw_gray(plane, (0, 0), 0);
        let picture = canvas.into_image();
        let gray = |value| Colour([value; 3]);
        assert_eq!(pixel(&picture, 0, 0), gray(0.0));
        assert_eq!(pixel(&picture, 1, 0), gray(0.0));
        assert_eq!(pixel(&picture, 0, 1), gray(1.0));
        assert_eq!(pixel(&picture, 1, 1), gray(0.0));
        assert_eq!(pixel(&picture, 0, 2), gray(0.25));
        assert_eq!(pixel(&picture, 1, 3), gray(0.0), "missing values are black");
        assert_eq!(pixel(&picture, 2, 1), Colour(heat::colour(1.0)));
        assert_eq!(pixel(&picture, 2, 0), Colour(heat::colour(0.0)));
    }

    #[test]
    fn images_that_lack_pixels_are_black_there() {
        let image = Image {
            width_px: usize::MAX / 8,
            height_px: 2,
            channels: 3,
            pixels: vec![1.0],
        };
        let mut canvas = Canvas::new(3, 2, Colour::CYAN).unwrap();
        canvas.blit(&image, (0, 0));
        let none = Image::filled(2, 1, 0, 0.0);
        canvas.blit(&none, (0, 0));
        assert_eq!(pixel(&canvas.image, 0, 0), Colour::BLACK);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for (width_px, height_px) in [(0, 5), (5, 0)] {
            let canvas = Canvas::new(width_px, height_px, Colour::BLACK);
            assert!(matches!(canvas, Err(DrawError::Empty { .. })));
        }
        for (width_px, height_px) in [(MAX_SHEET_PX, 2), (usize::MAX, usize::MAX)] {
            let canvas = Canvas::new(width_px, height_px, Colour::BLACK);
            assert!(matches!(canvas, Err(DrawError::TooLarge { .. })));
        }
        let image = Image::filled(8, 8, 1, 0.0);
        assert!(Canvas::enlarged(&image, 0).is_err());
        assert!(Canvas::enlarged(&image, usize::MAX / 2).is_err());
    }
}
