//! Samples in rows of named panels, for people to watch a training.

use mist_data::Image;

use super::caption::readable_scale;
use super::grid::Grid;
use super::{Canvas, Colour, DrawError, Mark, Plane, TEXT_HEIGHT_PX, text_width_px};

/// One picture of a sample.
#[derive(Clone, Debug, PartialEq)]
pub enum Panel<'a> {
    /// A gray or RGB image.
    Image(&'a Image),
    /// Nonnegative values in any range, drawn as [`Canvas::draw_heat`] does.
    Heat(Plane<'a>),
    /// A gray or RGB image with boxes on it.
    Marks(&'a Image, Vec<Mark>),
}

impl Panel<'_> {
    fn size_px(&self, zoom: usize) -> (usize, usize) {
        let (width_px, height_px) = match self {
            Self::Image(image) | Self::Marks(image, _) => (image.width_px, image.height_px),
            Self::Heat(plane) => (plane.width_px, plane.height_px),
        };
        (
            width_px.saturating_mul(zoom),
            height_px.saturating_mul(zoom),
        )
    }

    fn draw(
        &self,
        canvas: &mut Canvas,
        at_px: (usize, usize),
        zoom: usize,
    ) -> Result<(), DrawError> {
        match self {
            Self::Image(image) => canvas.draw_image(image, at_px, zoom),
            Self::Heat(plane) => canvas.draw_heat(*plane, at_px, zoom),
            Self::Marks(image, marks) => canvas.draw_marked(image, marks, at_px, zoom)?,
        }
        Ok(())
    }
}

/// One row per sample, whose panels are enlarged by a whole factor, below their names.
///
/// Each name has a column, in the order in which the names first appear; rows may lack some. A sheet
/// without pixels or with more than [`MAX_SHEET_PX`](super::MAX_SHEET_PX) is refused.
pub fn sample_sheet(rows: &[Vec<(&str, Panel)>], zoom: usize) -> Result<Image, DrawError> {
    let (names, cells) = arrange(rows);
    let mut widths_px = vec![0; names.len()];
    let mut heights_px = vec![0; rows.len()];
    for cell in &cells {
        let (width_px, height_px) = cell.panel.size_px(zoom);
        widths_px[cell.column] = width_px.max(widths_px[cell.column]);
        heights_px[cell.row] = height_px.max(heights_px[cell.row]);
    }
    let panels = Grid::new(&widths_px, &heights_px).with_border();
    let size_px = panels.checked_size_px()?;

    let fits = |scale: usize| {
        let mut columns = names.iter().zip(&widths_px);
        columns.all(|(name, width_px)| text_width_px(name, scale) <= *width_px)
    };
    let scales = 1..=readable_scale(size_px);
    let scale = scales.rev().find(|&scale| fits(scale)).unwrap_or(1);
    for (name, width_px) in names.iter().zip(&mut widths_px) {
        *width_px = text_width_px(name, scale).max(*width_px);
    }
    heights_px.insert(0, TEXT_HEIGHT_PX * scale);

    let grid = Grid::new(&widths_px, &heights_px).with_border();
    let mut sheet = grid.canvas()?;
    for (column, name) in names.iter().enumerate() {
        sheet.draw_text(name, grid.corner_px(column, 0), scale, Colour::WHITE);
    }
    for cell in cells {
        let corner_px = grid.corner_px(cell.column, cell.row + 1);
        cell.panel.draw(&mut sheet, corner_px, zoom)?;
    }
    Ok(sheet.into_image())
}

struct Cell<'a> {
    column: usize,
    row: usize,
    panel: &'a Panel<'a>,
}

/// The columns' names, and each panel in its column; a name that a row repeats has more columns.
fn arrange<'a>(rows: &'a [Vec<(&'a str, Panel<'a>)>]) -> (Vec<&'a str>, Vec<Cell<'a>>) {
    let mut names: Vec<&str> = Vec::new();
    let mut cells = Vec::new();
    for (row, panels) in rows.iter().enumerate() {
        let mut used = vec![false; names.len()];
        for (name, panel) in panels {
            let free = (0..names.len()).find(|&column| names[column] == *name && !used[column]);
            let column = free.unwrap_or(names.len());
            if free.is_none() {
                names.push(name);
                used.push(false);
            }
            used[column] = true;
            cells.push(Cell { column, row, panel });
        }
    }
    (names, cells)
}

#[cfg(test)]
mod tests {
    use mist_geometry::PixelBox;

    use super::*;
    use crate::draw::{GAP_PX, heat, pixel};

    /// The names below fit a panel of 36 px at scale 1 only.
    const HEADER_PX: usize = TEXT_HEIGHT_PX + 2 * GAP_PX;

    #[test]
    fn panels_stand_in_the_columns_of_their_names() {
        let image = Image::filled(12, 10, 1, 0.5);
        let mut heatmap = [0.0; 12 * 10];
        heatmap[12 + 2] = 40.0;
        let plane = Plane {
            values: &heatmap,
            width_px: 12,
            height_px: 10,
        };
        let marks = vec![Mark {
            bounds: PixelBox::from_centre(6.0, 5.0, 4.0, 4.0),
            caption: String::new(),
            colour: Colour::ORANGE,
        }];
        let rows = [
            vec![
                ("image", Panel::Image(&image)),
                ("heat", Panel::Heat(plane)),
                ("boxes", Panel::Marks(&image, marks)),
            ],
            vec![("heat", Panel::Heat(plane))],
        ];
        let sheet = sample_sheet(&rows, 3).unwrap();
        let (pitch_x, pitch_y) = (36 + GAP_PX, 30 + GAP_PX);
        assert_eq!(sheet.width_px, 3 * pitch_x + GAP_PX);
        assert_eq!(sheet.height_px, HEADER_PX + 2 * pitch_y);
        let at = |column: usize, row: usize, x: usize, y: usize| {
            let (left, top) = (GAP_PX + column * pitch_x, HEADER_PX + row * pitch_y);
            pixel(&sheet, left + x, top + y)
        };
        assert_eq!(at(0, 0, 0, 0), Colour([0.5; 3]));
        assert_eq!(at(0, 1, 0, 0), Colour::GAP, "the second row has no image");
        for row in [0, 1] {
            assert_eq!(at(1, row, 6, 3), Colour(heat::colour(1.0)));
            assert_eq!(at(1, row, 9, 5), Colour(heat::colour(0.0)));
        }
        // The square of 4 px around (6, 5) is that from (4, 3) to (8, 7).
        assert_eq!([at(2, 0, 12, 9), at(2, 0, 23, 20)], [Colour::ORANGE; 2]);
        assert_eq!(at(2, 0, 13, 10), Colour([0.5; 3]));
        for column in 0..3 {
            let xs = GAP_PX + column * pitch_x..(column + 1) * pitch_x;
            let header = xs.flat_map(|x| (GAP_PX..HEADER_PX).map(move |y| (x, y)));
            let letters = header.filter(|&(x, y)| pixel(&sheet, x, y) == Colour::WHITE);
            assert!(letters.count() > 20, "column {column} has a name");
        }
    }

    #[test]
    fn columns_are_as_wide_as_their_names() {
        let image = Image::filled(4, 4, 1, 0.5);
        let name = "after the lifted update";
        let sheet = sample_sheet(&[vec![(name, Panel::Image(&image))]], 1).unwrap();
        assert_eq!(sheet.width_px, text_width_px(name, 1) + 2 * GAP_PX);
    }

    #[test]
    fn a_repeated_name_has_columns_of_its_own() {
        let image = Image::filled(20, 4, 1, 0.5);
        let row = || vec![("a", Panel::Image(&image)), ("a", Panel::Image(&image))];
        let sheet = sample_sheet(&[row(), row()], 1).unwrap();
        assert_eq!(sheet.width_px, 2 * 20 + 3 * GAP_PX);
    }

    #[test]
    fn impossible_sheets_are_refused() {
        let image = Image::filled(24, 24, 1, 0.5);
        let row = || vec![("image", Panel::Image(&image))];
        assert!(sample_sheet(&[], 2).is_err());
        assert!(sample_sheet(&[Vec::new()], 2).is_err());
        assert!(sample_sheet(&[row()], 0).is_err());
        assert!(sample_sheet(&[row()], usize::MAX).is_err());
        let plane = Plane {
            values: &[],
            width_px: usize::MAX,
            height_px: usize::MAX,
        };
        assert!(sample_sheet(&[vec![("heat", Panel::Heat(plane))]], 1).is_err());
    }
}
