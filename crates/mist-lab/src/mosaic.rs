//! Pictures put together from pictures in colour.

use mist_data::Image;

/// Screen pixels between two pictures.
pub const GAP_PX: usize = 3;
const GAP_VALUE: f32 = 0.3;

/// Side by side, aligned at their tops.
pub fn beside(images: &[Image]) -> Image {
    let width = images.iter().map(|image| image.width_px + GAP_PX).sum();
    let height = images.iter().map(|image| image.height_px).max();
    let mut whole = Image::filled(width, height.unwrap_or(0), 3, GAP_VALUE);
    let mut left = 0;
    for image in images {
        place(&mut whole, image, left, 0);
        left += image.width_px + GAP_PX;
    }
    whole
}

/// One below the other, aligned at their left edges.
pub fn below(images: &[Image]) -> Image {
    let width = images.iter().map(|image| image.width_px).max();
    let height = images.iter().map(|image| image.height_px + GAP_PX).sum();
    let mut whole = Image::filled(width.unwrap_or(0), height, 3, GAP_VALUE);
    let mut top = 0;
    for image in images {
        place(&mut whole, image, 0, top);
        top += image.height_px + GAP_PX;
    }
    whole
}

/// A square gray plane in colour, enlarged.
pub fn enlarged(plane: &[f32], side: usize, zoom: usize) -> Image {
    let mut image = Image::filled(side * zoom, side * zoom, 3, 0.0);
    for channel in 0..3 {
        for y in 0..side * zoom {
            for x in 0..side * zoom {
                let offset = image.offset(x, y, channel);
                image.pixels[offset] = plane[y / zoom * side + x / zoom];
            }
        }
    }
    image
}

fn place(whole: &mut Image, part: &Image, left: usize, top: usize) {
    for channel in 0..3 {
        for y in 0..part.height_px {
            let from = part.offset(0, y, channel.min(part.channels - 1));
            let to = whole.offset(left, top + y, channel);
            let row = &part.pixels[from..][..part.width_px];
            whole.pixels[to..][..part.width_px].copy_from_slice(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_their_pixels() {
        let parts = [Image::filled(2, 1, 3, 0.5), Image::filled(1, 3, 3, 1.0)];
        let row = beside(&parts);
        assert_eq!((row.width_px, row.height_px), (3 + 2 * GAP_PX, 3));
        assert_eq!(row.pixels[row.offset(1, 0, 2)], 0.5);
        assert_eq!(row.pixels[row.offset(2 + GAP_PX, 2, 1)], 1.0);
        let column = below(&parts);
        assert_eq!((column.width_px, column.height_px), (2, 4 + 2 * GAP_PX));
        assert_eq!(column.pixels[column.offset(0, 1 + GAP_PX, 0)], 1.0);
        let large = enlarged(&[0.0, 0.25, 0.5, 0.75], 2, 2);
        assert_eq!(large.pixels[large.offset(3, 1, 1)], 0.25);
    }
}
