//! The part of an image that an item shows.

use crate::image::Image;

/// `width x height` px of an image from a column and a row on, which may lie outside; what is not in the image has one
/// value.
pub(super) fn cut(
    image: &Image,
    (left_px, top_px): (isize, isize),
    [width_px, height_px]: [usize; 2],
    outside: f32,
) -> Image {
    let mut window = Image::filled(width_px, height_px, image.channels, outside);
    let columns = overlap(left_px, width_px, image.width_px);
    let rows = overlap(top_px, height_px, image.height_px);
    for channel in 0..image.channels {
        for y in rows.clone() {
            let source_y = (y as isize + top_px) as usize;
            let source_x = (columns.start as isize + left_px) as usize;
            let from = image.offset(source_x.min(image.width_px), source_y, channel);
            let to = window.offset(columns.start, y, channel);
            let length = columns.len();
            window.pixels[to..to + length].copy_from_slice(&image.pixels[from..from + length]);
        }
    }
    window
}

/// Places in a window, which begins at `first` of an image's places, that are in the image.
fn overlap(first: isize, length: usize, image: usize) -> std::ops::Range<usize> {
    let start = (-first).clamp(0, length as isize) as usize;
    let end = (image as isize - first).clamp(start as isize, length as isize) as usize;
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(width_px: usize, height_px: usize) -> Image {
        let mut image = Image::filled(width_px, height_px, 3, 0.0);
        for (place, value) in image.pixels.iter_mut().enumerate() {
            *value = place as f32;
        }
        image
    }

    #[test]
    fn every_pixel_is_that_of_the_image_or_the_value_outside() {
        let image = numbered(5, 4);
        for (left, top) in [(0, 0), (2, 1), (-2, -3), (4, 3), (9, 9), (-9, 0)] {
            let window = cut(&image, (left, top), [6, 3], -1.0);
            for channel in 0..3 {
                for y in 0..3 {
                    for x in 0..6 {
                        let (source_x, source_y) = (x as isize + left, y as isize + top);
                        let inside = (0..5).contains(&source_x) && (0..4).contains(&source_y);
                        let expected = match inside {
                            true => {
                                let (x, y) = (source_x as usize, source_y as usize);
                                image.pixels[image.offset(x, y, channel)]
                            }
                            false => -1.0,
                        };
                        assert_eq!(window.pixels[window.offset(x, y, channel)], expected);
                    }
                }
            }
        }
    }
}
