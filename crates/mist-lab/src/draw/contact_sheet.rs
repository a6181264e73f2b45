//! Many images with their marks.

use mist_data::Image;

use super::grid::Grid;
use super::{Canvas, DrawError, Mark};

/// An image on a contact sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile<'a> {
    /// Gray or RGB, of any size.
    pub image: &'a Image,
    /// What is shown on it.
    pub marks: Vec<Mark>,
}

/// Images in rows of `columns`, enlarged by a whole factor, with their marks.
///
/// Columns are as wide and rows as high as their largest image. A sheet without pixels or with more
/// than [`MAX_SHEET_PX`](super::MAX_SHEET_PX) is refused.
pub fn contact_sheet(tiles: &[Tile], columns: usize, zoom: usize) -> Result<Image, DrawError> {
    let columns = columns.min(tiles.len());
    let rows: Vec<&[Tile]> = match columns {
        0 => Vec::new(),
        _ => tiles.chunks(columns).collect(),
    };
    let largest = |sides_px: &mut dyn Iterator<Item = usize>| {
        sides_px.max().unwrap_or(0).saturating_mul(zoom)
    };
    let width_of = |column: usize| {
        let tiles = rows.iter().filter_map(|row| row.get(column));
        largest(&mut tiles.map(|tile| tile.image.width_px))
    };
    let height_of = |row: &&[Tile]| largest(&mut row.iter().map(|tile| tile.image.height_px));
    let widths_px: Vec<usize> = (0..columns).map(width_of).collect();
    let heights_px: Vec<usize> = rows.iter().map(height_of).collect();
    let grid = Grid::new(&widths_px, &heights_px).with_border();
    let mut sheet = grid.canvas()?;
    for (row, tiles) in rows.iter().enumerate() {
        for (column, tile) in tiles.iter().enumerate() {
            sheet.draw_marked(tile.image, &tile.marks, grid.corner_px(column, row), zoom)?;
        }
    }
    Ok(sheet.into_image())
}

impl Canvas {
    /// Draws an image with marks that are cut at its edges.
    pub(super) fn draw_marked(
        &mut self,
        image: &Image,
        marks: &[Mark],
        at_px: (usize, usize),
        zoom: usize,
    ) -> Result<(), DrawError> {
        if image.width_px == 0 || image.height_px == 0 {
            return Ok(());
        }
        let mut tile = Self::enlarged(image, zoom)?;
        tile.draw_marks(marks, zoom);
        self.blit(&tile.into_image(), at_px);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mist_geometry::PixelBox;

    use super::*;
    use crate::draw::{Colour, GAP_PX, pixel};

    fn marks() -> Vec<Mark> {
        vec![Mark {
            bounds: PixelBox::from_centre(10.0, 12.0, 8.0, 8.0),
            caption: "3".into(),
            colour: Colour::of_class(3),
        }]
    }

    #[test]
    fn boxes_stand_where_their_bounds_say_on_each_tile() {
        let image = Image::filled(24, 24, 1, 0.5);
        let tile = Tile {
            image: &image,
            marks: marks(),
        };
        let sheet = contact_sheet(&[tile.clone(), tile.clone(), tile], 2, 3).unwrap();
        let pitch_px = 72 + GAP_PX;
        assert_eq!(sheet.width_px, 2 * pitch_px + GAP_PX);
        assert_eq!(sheet.height_px, 2 * pitch_px + GAP_PX);
        for (left, top) in [(0, 0), (pitch_px, 0), (0, pitch_px)] {
            let at = |x: usize, y: usize| pixel(&sheet, left + GAP_PX + x, top + GAP_PX + y);
            assert_eq!([at(18, 24), at(41, 47)], [Colour::of_class(3); 2]);
            assert_eq!(at(19, 25), Colour([0.5; 3]));
        }
        assert_eq!(pixel(&sheet, 0, 0), Colour::GAP);
        let empty_cell = pixel(&sheet, pitch_px + 40, pitch_px + 40);
        assert_eq!(empty_cell, Colour::GAP);
    }

    #[test]
    fn images_of_any_size_and_channels_share_a_sheet() {
        let images = [
            Image::filled(5, 9, 1, 1.0),
            Image::filled(20, 4, 3, 1.0),
            Image::filled(0, 0, 1, 1.0),
            Image::filled(7, 7, 1, 1.0),
        ];
        let tiles = images.each_ref().map(|image| Tile {
            image,
            marks: marks(),
        });
        let sheet = contact_sheet(&tiles, 2, 2).unwrap();
        assert_eq!(sheet.width_px, 2 * (5 + 20) + 3 * GAP_PX);
        assert_eq!(sheet.height_px, 2 * (9 + 7) + 3 * GAP_PX);
        let right = 10 + 2 * GAP_PX;
        assert_eq!(pixel(&sheet, right, GAP_PX), Colour::WHITE);
        assert_eq!(pixel(&sheet, right, 18 + 2 * GAP_PX), Colour::WHITE);
        assert_eq!(pixel(&sheet, right + 39, GAP_PX + 8), Colour::GAP);
    }

    #[test]
    fn impossible_sheets_are_refused() {
        let image = Image::filled(24, 24, 1, 0.5);
        let tiles = [Tile {
            image: &image,
            marks: Vec::new(),
        }];
        assert!(matches!(
            contact_sheet(&[], 3, 2),
            Err(DrawError::Empty { .. })
        ));
        assert!(contact_sheet(&tiles, 0, 2).is_err());
        assert!(contact_sheet(&tiles, 1, 0).is_err());
        for zoom in [1000, usize::MAX / 2] {
            let sheet = contact_sheet(&tiles, 1, zoom);
            assert!(matches!(sheet, Err(DrawError::TooLarge { .. })));
        }
    }
}
