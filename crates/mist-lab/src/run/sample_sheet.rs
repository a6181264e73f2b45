//! Sample sheets: what the networks see, predict and are taught, for people to watch a training.

mod ramp;
mod tile;

use mist_data::Image;

use tile::{Tile, fill};

/// Box colours, from the palette of contact sheets.
const ORANGE: [f32; 3] = [1.0, 0.75, 0.2];
const CYAN: [f32; 3] = [0.35, 0.8, 1.0];

/// As on contact sheets.
const SEPARATOR: [f32; 3] = [0.3, 0.3, 0.35];
const SEPARATOR_PX: usize = 2;

const TILES: usize = 5;

/// One sample: planes of `height_px * width_px` values, row after row, and boxes on them.
///
/// A box is the x and y of its centre and its side, in pixels; the first pixel's centre is at
/// (0.5, 0.5).
#[derive(Clone, Copy, Debug)]
pub struct SamplePanel<'a> {
    /// Gray values in `[0, 1]`.
    pub image: &'a [f32],
    /// What the heatmap network says: nonnegative, in any range.
    pub heatmap: &'a [f32],
    /// What the heatmap network is to say, in any range.
    pub target: &'a [f32],
    /// Boxes before the lifted update.
    pub before: &'a [(f32, f32, f32)],
    /// Boxes after the lifted update.
    pub after: &'a [(f32, f32, f32)],
    /// The label of each box, or nothing.
    pub labels: &'a [usize],
}

/// One row per panel, enlarged by a whole factor: the image, the heatmap, its target, the image with
/// the boxes before (orange) and with those after the lifted update (cyan).
///
/// The heatmap and the target each span their colours from zero to their own maximum: they show where
/// the mass is, not how much. Values that are missing or not finite count as zero.
pub fn sample_sheet(
    panels: &[SamplePanel],
    width_px: usize,
    height_px: usize,
    zoom: usize,
) -> Image {
    let zoom = zoom.max(1);
    let pitch_x_px = width_px * zoom + SEPARATOR_PX;
    let pitch_y_px = height_px * zoom + SEPARATOR_PX;
    let sheet_width_px = TILES * pitch_x_px + SEPARATOR_PX;
    let sheet_height_px = panels.len() * pitch_y_px + SEPARATOR_PX;
    let mut sheet = Image::filled(sheet_width_px, sheet_height_px, 3, 0.0);
    fill(&mut sheet, 0..sheet_width_px, 0..sheet_height_px, SEPARATOR);
    for (row, panel) in panels.iter().enumerate() {
        let tile = |column: usize| Tile {
            left_px: SEPARATOR_PX + column * pitch_x_px,
            top_px: SEPARATOR_PX + row * pitch_y_px,
            width_px,
            height_px,
            zoom,
        };
        tile(0).draw_gray(&mut sheet, panel.image);
        tile(1).draw_heat(&mut sheet, panel.heatmap);
        tile(2).draw_heat(&mut sheet, panel.target);
        for (column, boxes, colour) in [(3, panel.before, ORANGE), (4, panel.after, CYAN)] {
            tile(column).draw_gray(&mut sheet, panel.image);
            tile(column).draw_boxes(&mut sheet, boxes, panel.labels, colour);
        }
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: SamplePanel = SamplePanel {
        image: &[],
        heatmap: &[],
        target: &[],
        before: &[],
        after: &[],
        labels: &[],
    };

    fn at(sheet: &Image, x: usize, y: usize) -> [f32; 3] {
        [0, 1, 2].map(|channel| sheet.pixels[sheet.offset(x, y, channel)])
    }

    #[test]
    fn tiles_stand_in_rows_of_five() {
        let image = [0.5; 12 * 10];
        let mut heatmap = [0.0; 12 * 10];
        heatmap[12 + 2] = 40.0;
        let panel = SamplePanel {
            image: &image,
            heatmap: &heatmap,
            before: &[(6.0, 5.0, 4.0)],
            after: &[(6.0, 5.0, 6.0)],
            ..EMPTY
        };
        let sheet = sample_sheet(&[panel, EMPTY], 12, 10, 3);
        assert_eq!((sheet.width_px, sheet.height_px), (5 * 38 + 2, 2 * 32 + 2));
        assert_eq!(at(&sheet, 0, 0), SEPARATOR);
        assert_eq!(at(&sheet, 2, 2), [0.5; 3]);
        assert_eq!(at(&sheet, 2, 2 + 32), [0.0; 3]);
        let heat = |x: usize, y: usize| at(&sheet, 2 + 38 + x, 2 + y);
        assert_eq!(heat(6, 3), ramp::colour(1.0));
        assert_eq!(heat(8, 5), ramp::colour(1.0));
        assert_eq!(heat(9, 5), ramp::colour(0.0));
        // The square of 4 px around (6, 5) is that from (4, 3) to (8, 7).
        let before = |x: usize, y: usize| at(&sheet, 2 + 3 * 38 + x, 2 + y);
        assert_eq!([before(12, 9), before(23, 20)], [ORANGE; 2]);
        assert_eq!([before(11, 9), before(13, 10)], [[0.5; 3]; 2]);
        let after = |x: usize, y: usize| at(&sheet, 2 + 4 * 38 + x, 2 + y);
        assert_eq!([after(9, 6), after(26, 23)], [CYAN; 2]);
    }

    #[test]
    fn boxes_are_cut_at_the_tile() {
        let boxes = [
            (0.0, 0.0, 8.0),
            (f32::MAX, 0.0, 1.0),
            (-20.0, 4.0, 2.0),
            (4.0, 4.0, f32::MAX),
            (4.0, f32::NEG_INFINITY, 2.0),
            (f32::NAN, 4.0, 2.0),
            (4.0, 4.0, -3.0),
        ];
        let panel = SamplePanel {
            before: &boxes,
            labels: &[3; 7],
            ..EMPTY
        };
        let sheet = sample_sheet(&[panel], 8, 8, 2);
        let plain = sample_sheet(&[EMPTY], 8, 8, 2);
        let changed = |x: &usize, y: &usize| at(&sheet, *x, *y) != at(&plain, *x, *y);
        let places = (0..sheet.height_px).flat_map(|y| (0..sheet.width_px).map(move |x| (x, y)));
        let changed: Vec<_> = places.filter(|(x, y)| changed(x, y)).collect();
        // The right and the lower edge of the first box, eight dots each, share their corner. The fourth
        // box is outside all around, and its label, eleven dots, is where that of the first is.
        assert_eq!(changed.len(), 15 + 11);
        let left = 2 + 3 * 18;
        assert!(changed.contains(&(left + 7, 2)) && changed.contains(&(left, 2 + 7)));
    }

    #[test]
    fn odd_input_does_no_harm() {
        assert_eq!(sample_sheet(&[], 8, 8, 2).height_px, 2);
        assert_eq!(sample_sheet(&[EMPTY], 0, 0, 2).width_px, 12);
        assert_eq!(sample_sheet(&[EMPTY], 4, 4, 0).height_px, 8);
        let heatmap = [f32::NAN, f32::INFINITY, 2.0, -1.0];
        let panel = SamplePanel {
            image: &heatmap,
            heatmap: &heatmap,
            ..EMPTY
        };
        let sheet = sample_sheet(&[panel], 2, 2, 1);
        assert!(sheet.pixels.iter().all(|value| value.is_finite()));
        assert_eq!(at(&sheet, 6, 3), ramp::colour(1.0));
        assert_eq!(at(&sheet, 6, 2), ramp::colour(0.0));
    }
}
