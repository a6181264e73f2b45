//! Pictures put together from pictures.

use mist_data::Image;

use super::DrawError;
use super::grid::{GAP_PX, Grid};

/// A patch is enlarged to at least this side, unless there are very many.
const PATCH_SIDE_PX: usize = 32;

/// Lines of patches before patches become smaller.
const COMFORTABLE_LINES: usize = 2;

/// Pictures side by side, with gaps, aligned at their tops.
pub fn beside(images: &[Image]) -> Result<Image, DrawError> {
    let widths_px: Vec<usize> = images.iter().map(|image| image.width_px).collect();
    let height_px = images.iter().map(|image| image.height_px).max();
    let grid = Grid::new(&widths_px, &[height_px.unwrap_or(0)]);
    let mut canvas = grid.canvas()?;
    for (column, image) in images.iter().enumerate() {
        canvas.blit(image, grid.corner_px(column, 0));
    }
    Ok(canvas.into_image())
}

/// Pictures one below the other, with gaps, aligned at their left edges.
pub fn below(images: &[Image]) -> Result<Image, DrawError> {
    let width_px = images.iter().map(|image| image.width_px).max();
    let heights_px: Vec<usize> = images.iter().map(|image| image.height_px).collect();
    let grid = Grid::new(&[width_px.unwrap_or(0)], &heights_px);
    let mut canvas = grid.canvas()?;
    for (row, image) in images.iter().enumerate() {
        canvas.blit(image, grid.corner_px(0, row));
    }
    Ok(canvas.into_image())
}

/// Rows of patches, enlarged, in lines that are broken to fit a width.
///
/// The patches of a column belong together, such as what was seen and what was reconstructed: where
/// the rows are broken, each line shows the next patches of all rows. Patches are shown at 32 px or
/// more if two lines suffice for that, and smaller otherwise.
pub fn strip(rows: &[&[Image]], width_px: usize) -> Result<Image, DrawError> {
    let patches = || rows.iter().flat_map(|row| row.iter());
    let patch_width_px = patches().map(|patch| patch.width_px).max().unwrap_or(0);
    let patch_height_px = patches().map(|patch| patch.height_px).max().unwrap_or(0);
    let count = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let lines = |zoom: usize| {
        let pitch_px = patch_width_px.saturating_mul(zoom).saturating_add(GAP_PX);
        count.div_ceil((width_px.saturating_add(GAP_PX) / pitch_px).max(1))
    };
    let largest = PATCH_SIDE_PX.div_ceil(patch_width_px.max(1));
    let comfortable = (1..=largest)
        .rev()
        .find(|&zoom| lines(zoom) <= COMFORTABLE_LINES);
    let zoom = comfortable.unwrap_or(1);
    let per_line = count.div_ceil(lines(zoom).max(1)).max(1);

    let widths_px = vec![patch_width_px.saturating_mul(zoom); per_line.min(count)];
    let grid_rows = rows.len().saturating_mul(count.div_ceil(per_line));
    let heights_px = vec![patch_height_px.saturating_mul(zoom); grid_rows];
    let grid = Grid::new(&widths_px, &heights_px);
    let mut canvas = grid.canvas()?;
    for (row, patches) in rows.iter().enumerate() {
        for (place, patch) in patches.iter().enumerate() {
            let line = place / per_line * rows.len() + row;
            let corner_px = grid.corner_px(place % per_line, line);
            canvas.draw_image(patch, corner_px, zoom);
        }
    }
    Ok(canvas.into_image())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::{Colour, pixel};

    #[test]
    fn parts_keep_their_pixels() {
        let parts = [Image::filled(2, 1, 3, 0.5), Image::filled(1, 3, 1, 1.0)];
        let row = beside(&parts).unwrap();
        assert_eq!((row.width_px, row.height_px), (3 + GAP_PX, 3));
        assert_eq!(pixel(&row, 1, 0), Colour([0.5; 3]));
        assert_eq!(pixel(&row, 2, 0), Colour::GAP);
        assert_eq!(pixel(&row, 2 + GAP_PX, 2), Colour::WHITE);
        let column = below(&parts).unwrap();
        assert_eq!((column.width_px, column.height_px), (2, 4 + GAP_PX));
        assert_eq!(pixel(&column, 0, 1 + GAP_PX), Colour::WHITE);
        assert_eq!(pixel(&column, 1, 1 + GAP_PX), Colour::GAP);
    }

    #[test]
    fn nothing_makes_no_picture() {
        assert!(beside(&[]).is_err());
        assert!(below(&[Image::filled(0, 0, 3, 0.0)]).is_err());
        assert!(strip(&[], 100).is_err());
        assert!(strip(&[&[], &[]], 100).is_err());
    }

    #[test]
    fn rows_are_broken_together() {
        let patch = |value| Image::filled(16, 16, 1, value);
        let seen: Vec<Image> = (0..5).map(|_| patch(1.0)).collect();
        let redrawn: Vec<Image> = (0..5).map(|_| patch(0.5)).collect();
        let strip = strip(&[&seen, &redrawn], 3 * 32 + 2 * GAP_PX).unwrap();
        assert_eq!(strip.width_px, 3 * 32 + 2 * GAP_PX);
        assert_eq!(strip.height_px, 4 * 32 + 3 * GAP_PX);
        let at = |column: usize, row: usize| {
            let offset = |place: usize| place * (32 + GAP_PX) + 31;
            pixel(&strip, offset(column), offset(row))
        };
        let (bright, gray) = (Colour::WHITE, Colour([0.5; 3]));
        assert_eq!(
            [0, 1, 2, 3].map(|row| at(1, row)),
            [bright, gray, bright, gray]
        );
        assert_eq!(at(2, 3), Colour::GAP);
    }

    #[test]
    fn many_patches_are_shown_smaller() {
        let patches: Vec<Image> = (0..12).map(|_| Image::filled(16, 16, 1, 1.0)).collect();
        let strip = strip(&[&patches], 6 * (16 + GAP_PX)).unwrap();
        assert_eq!(strip.width_px, 6 * 16 + 5 * GAP_PX);
        assert_eq!(strip.height_px, 2 * 16 + GAP_PX);
    }
}
