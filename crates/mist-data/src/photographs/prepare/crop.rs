//! Random crops around all objects of a photograph.

use mist_geometry::PixelBox;

use super::rules::Object;
use crate::image::Image;
use crate::random::SceneRng;

/// The share of a crop that its objects cover, drawn between these: 30 % on average.
const COVER: [f64; 2] = [0.15, 0.45];

/// A part of a photograph, and its objects in pixels of the part.
pub(super) struct Crop {
    pub image: Image,
    pub objects: Vec<Object>,
}

impl Crop {
    /// The share that the objects cover; where they overlap, twice.
    pub fn cover(&self) -> f64 {
        let area_px: f32 = self
            .objects
            .iter()
            .map(|object| object.bounds.area_px2())
            .sum();
        f64::from(area_px) / (self.image.width_px * self.image.height_px) as f64
    }
}

/// A crop of the photograph's aspect ratio that holds all objects, as large as makes them cover a random share of it, as
/// far as the photograph allows.
pub(super) fn around(image: &Image, objects: &[Object], random: &mut SceneRng) -> Crop {
    let (width, height) = (image.width_px as f32, image.height_px as f32);
    let area_px: f32 = objects.iter().map(|object| object.bounds.area_px2()).sum();
    let cover = random.within(COVER[0], COVER[1]) as f32;
    let hull = hull(objects);
    let wanted = (area_px / cover / (width * height)).sqrt();
    let needed = (hull.width_px() / width).max(hull.height_px() / height);
    let share = wanted.max(needed).min(1.0);
    let columns = span(random, width, share * width, hull.x_min_px, hull.x_max_px);
    let rows = span(random, height, share * height, hull.y_min_px, hull.y_max_px);
    let mut pixels = Vec::with_capacity(image.channels * columns.len() * rows.len());
    for channel in 0..image.channels {
        for row in rows.clone() {
            let start = image.offset(columns.start, row, channel);
            pixels.extend_from_slice(&image.pixels[start..][..columns.len()]);
        }
    }
    let part = Image {
        width_px: columns.len(),
        height_px: rows.len(),
        channels: image.channels,
        pixels,
    };
    let moved = |object: &Object| object.moved(-(columns.start as f32), -(rows.start as f32));
    Crop {
        image: part,
        objects: objects.iter().map(moved).collect(),
    }
}

/// The smallest box around all objects.
fn hull(objects: &[Object]) -> PixelBox {
    let edge = |of: fn(&PixelBox) -> f32, pick: fn(f32, f32) -> f32, start: f32| {
        let edges = objects.iter().map(|object| of(&object.bounds));
        edges.fold(start, pick)
    };
    PixelBox {
        x_min_px: edge(|b| b.x_min_px, f32::min, f32::INFINITY),
        y_min_px: edge(|b| b.y_min_px, f32::min, f32::INFINITY),
        x_max_px: edge(|b| b.x_max_px, f32::max, 0.0),
        y_max_px: edge(|b| b.y_max_px, f32::max, 0.0),
    }
}

/// Whole pixels of about a length, anywhere around what it must hold.
fn span(
    random: &mut SceneRng,
    image_px: f32,
    length_px: f32,
    first_px: f32,
    last_px: f32,
) -> std::ops::Range<usize> {
    let earliest = (last_px - length_px).max(0.0);
    let latest = first_px.min(image_px - length_px).max(earliest);
    let start = random.within(f64::from(earliest), f64::from(latest)) as f32;
    let end = (start + length_px).max(last_px).ceil().min(image_px);
    let start = start.min(first_px).floor().max(0.0);
    start as usize..(end as usize).max(start as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::Split;

    #[test]
    fn crops_hold_all_objects_and_cover_what_they_should() {
        let image = Image::filled(300, 200, 3, 0.5);
        let bounds = |x_min_px, y_min_px| PixelBox {
            x_min_px,
            y_min_px,
            x_max_px: x_min_px + 40.0,
            y_max_px: y_min_px + 40.0,
        };
        let objects = [bounds(60.0, 50.0), bounds(110.5, 70.25)];
        let objects = objects.map(|bounds| Object { label: 3, bounds });
        let mut total = 0.0;
        for index in 0..400 {
            let mut random = SceneRng::new("crops", 1, Split::Train, index);
            let crop = around(&image, &objects, &mut random);
            let (width, height) = (crop.image.width_px as f32, crop.image.height_px as f32);
            for object in &crop.objects {
                let b = object.bounds;
                assert!(b.x_min_px >= 0.0 && b.y_min_px >= 0.0);
                assert!(b.x_max_px <= width && b.y_max_px <= height);
                assert_eq!((b.width_px(), b.height_px()), (40.0, 40.0));
            }
            assert!((width / height - 1.5).abs() < 0.1, "{width} {height}");
            total += crop.cover() / 400.0;
        }
        assert!((0.25..0.33).contains(&total), "{total}");
    }
}
