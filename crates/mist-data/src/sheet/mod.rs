//! Contact sheets: scenes with their boxes, for people to look at.

mod bitmap;
mod marks;

pub use bitmap::dots as digit_dots;

use marks::{cross, is_crowded, outline};

use crate::error::{RequestError, Result};
use crate::image::Image;
use crate::scene::Scene;

/// Class colours, told apart on black and on gray.
const COLOURS: [[f32; 3]; 10] = [
    [1.0, 0.35, 0.35],
    [0.35, 0.8, 1.0],
    [0.45, 1.0, 0.35],
    [1.0, 0.75, 0.2],
    [0.85, 0.5, 1.0],
    [0.2, 1.0, 0.8],
    [1.0, 0.5, 0.85],
    [0.9, 1.0, 0.4],
    [0.5, 0.6, 1.0],
    [1.0, 0.6, 0.4],
];

const SEPARATOR: [f32; 3] = [0.3, 0.3, 0.35];
const SEPARATOR_PX: usize = 2;

/// Sheets are for screens; this is some twenty of them.
const MAX_SHEET_PX: usize = 1 << 26;

/// What stands in the corner of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Captions {
    /// The label's number.
    Labels,
    /// Nothing: all objects are of one kind.
    None,
}

/// Tiles scenes in rows of `columns`, enlarged by a whole factor, with boxes.
///
/// Where boxes would hide the scene, instances are marked by a cross at their centre instead.
pub fn contact_sheet(
    scenes: &[Scene],
    columns: usize,
    zoom: usize,
    captions: Captions,
) -> Result<Image> {
    let tile_px = scenes
        .iter()
        .map(|scene| scene.image.width_px.max(scene.image.height_px))
        .max()
        .unwrap_or(0);
    let columns = columns.min(scenes.len());
    let rows = scenes.len().checked_div(columns).unwrap_or(0);
    let rows = rows + usize::from(rows * columns < scenes.len());
    let side = |tiles: usize| -> Option<usize> {
        let pitch_px = tile_px.checked_mul(zoom)?.checked_add(SEPARATOR_PX)?;
        tiles.checked_mul(pitch_px)?.checked_add(SEPARATOR_PX)
    };
    let size = side(columns).zip(side(rows));
    let fits = size.is_some_and(|(w, h)| w.checked_mul(h).is_some_and(|area| area <= MAX_SHEET_PX));
    let Some((width_px, height_px)) = size.filter(|_| fits && columns * zoom * tile_px > 0) else {
        return Err(RequestError::OutOfRange {
            name: "size of a contact sheet",
            value: format!(
                "{} scenes in {columns} columns, {zoom} times enlarged",
                scenes.len()
            ),
            expected: "from 1 to 2^26 px",
        }
        .into());
    };
    let mut sheet = Sheet {
        image: Image::filled(width_px, height_px, 3, 0.0),
        zoom,
        captions,
    };
    sheet.fill(0..width_px, 0..height_px, SEPARATOR);
    let pitch_px = tile_px * zoom + SEPARATOR_PX;
    for (place, scene) in scenes.iter().enumerate() {
        let left_px = SEPARATOR_PX + place % columns * pitch_px;
        let top_px = SEPARATOR_PX + place / columns * pitch_px;
        sheet.draw_pixels(scene, left_px, top_px);
        sheet.draw_instances(scene, left_px, top_px);
    }
    Ok(sheet.image)
}

struct Sheet {
    image: Image,
    zoom: usize,
    captions: Captions,
}

impl Sheet {
    fn fill(&mut self, xs: std::ops::Range<usize>, ys: std::ops::Range<usize>, colour: [f32; 3]) {
        for (channel, value) in colour.into_iter().enumerate() {
            for y_px in ys.clone() {
                let start = self.image.offset(xs.start, y_px, channel);
                self.image.pixels[start..][..xs.len()].fill(value);
            }
        }
    }

    fn draw_pixels(&mut self, scene: &Scene, left_px: usize, top_px: usize) {
        let source = &scene.image;
        for y_px in 0..source.height_px {
            for x_px in 0..source.width_px {
                let value = |channel: usize| {
                    source.pixels[source.offset(x_px, y_px, channel.min(source.channels - 1))]
                };
                let colour = [value(0), value(1), value(2)];
                let (x, y) = (left_px + x_px * self.zoom, top_px + y_px * self.zoom);
                self.fill(x..x + self.zoom, y..y + self.zoom, colour);
            }
        }
    }

    /// Boxes may leave the scene (Gabor kernels do); they are cut at its edge.
    fn draw_instances(&mut self, scene: &Scene, left_px: usize, top_px: usize) {
        let crowded = is_crowded(scene);
        let limit_x_px = (scene.image.width_px * self.zoom) as i64;
        let limit_y_px = (scene.image.height_px * self.zoom) as i64;
        for instance in &scene.instances {
            let colour = COLOURS[instance.label % COLOURS.len()];
            let dots = match crowded {
                true => cross(instance.bounds.centre_px(), self.zoom),
                false => outline(instance, self.zoom, self.captions),
            };
            for dot in dots {
                if (0..limit_x_px).contains(&dot.x) && (0..limit_y_px).contains(&dot.y) {
                    let (x, y) = (left_px + dot.x as usize, top_px + dot.y as usize);
                    self.fill(x..x + 1, y..y + 1, colour);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Instance, square_around};

    fn scene() -> Scene {
        Scene {
            image: Image::filled(24, 24, 1, 0.5),
            instances: vec![Instance {
                bounds: square_around(10.0, 12.0, 8.0),
                label: 3,
                scale: 1.0,
                weight: 1.0,
            }],
        }
    }

    #[test]
    fn boxes_stand_where_their_bounds_say() {
        let sheet = contact_sheet(&[scene(), scene(), scene()], 2, 3, Captions::Labels).unwrap();
        assert_eq!((sheet.width_px, sheet.height_px), (2 * 74 + 2, 2 * 74 + 2));
        let at = |x, y| [0, 1, 2].map(|channel| sheet.pixels[sheet.offset(x, y, channel)]);
        for (x, y) in [
            (2 + 18, 2 + 24),
            (2 + 41, 2 + 47),
            (76 + 18, 2 + 24),
            (20, 76 + 24),
        ] {
            assert_eq!(at(x, y), COLOURS[3]);
        }
        assert_eq!(at(2 + 17, 2 + 23), [0.5; 3]);
        assert_eq!(at(0, 0), SEPARATOR);
    }

    #[test]
    fn labels_are_written_where_they_are_asked_for() {
        let drawn = |captions| {
            let sheet = contact_sheet(&[scene()], 1, 3, captions).unwrap();
            let coloured = |&&value: &&f32| value == COLOURS[3][0];
            sheet.pixels.iter().filter(coloured).count()
        };
        let dots = bitmap::dots(3).len();
        assert_eq!(drawn(Captions::Labels), drawn(Captions::None) + dots);
    }

    #[test]
    fn impossible_sheets_are_refused() {
        assert!(contact_sheet(&[], 3, 2, Captions::None).is_err());
        assert!(contact_sheet(&[scene()], 0, 2, Captions::None).is_err());
        assert!(contact_sheet(&[scene()], 1, 0, Captions::None).is_err());
        assert!(contact_sheet(&[scene()], 1, usize::MAX / 2, Captions::None).is_err());
    }
}
