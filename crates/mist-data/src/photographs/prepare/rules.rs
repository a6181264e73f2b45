//! Which photographs are used.

use mist_geometry::PixelBox;

use crate::image::ImageSize;

/// The largest share of an image that an object may cover.
const MOST_COVER: f32 = 0.3;
/// The largest ratio of an object's sides.
const MOST_RATIO: f32 = 2.0;

/// An object of one of the 20 classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Object {
    /// Index of its class.
    pub label: usize,
    pub bounds: PixelBox,
}

/// Why a photograph is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    WithoutObjects,
    TooLarge,
    TooNarrow,
    Damaged,
}

impl Object {
    pub fn scaled(&self, factor: f32) -> Self {
        let b = self.bounds;
        Self {
            bounds: PixelBox {
                x_min_px: b.x_min_px * factor,
                y_min_px: b.y_min_px * factor,
                x_max_px: b.x_max_px * factor,
                y_max_px: b.y_max_px * factor,
            },
            ..*self
        }
    }

    pub fn moved(&self, x_px: f32, y_px: f32) -> Self {
        let b = self.bounds;
        Self {
            bounds: PixelBox {
                x_min_px: b.x_min_px + x_px,
                y_min_px: b.y_min_px + y_px,
                x_max_px: b.x_max_px + x_px,
                y_max_px: b.y_max_px + y_px,
            },
            ..*self
        }
    }
}

/// The parts of objects inside the image, and how many have none.
pub(super) fn inside(objects: &[Object], size: ImageSize) -> (Vec<Object>, usize) {
    let (width, height) = (size.width_px as f32, size.height_px as f32);
    let clipped = objects.iter().map(|object| {
        let b = object.bounds;
        Object {
            bounds: PixelBox {
                x_min_px: b.x_min_px.clamp(0.0, width),
                y_min_px: b.y_min_px.clamp(0.0, height),
                x_max_px: b.x_max_px.clamp(0.0, width),
                y_max_px: b.y_max_px.clamp(0.0, height),
            },
            ..*object
        }
    });
    let (kept, useless): (Vec<Object>, Vec<Object>) = clipped
        .partition(|object| object.bounds.width_px() > 0.0 && object.bounds.height_px() > 0.0);
    (kept, useless.len())
}

/// The paper's rules.
pub(super) fn check(objects: &[Object], size: ImageSize) -> Result<(), Unfit> {
    if objects.is_empty() {
        return Err(Unfit::WithoutObjects);
    }
    let area_px = (size.width_px * size.height_px) as f32;
    if objects
        .iter()
        .any(|object| object.bounds.area_px2() > MOST_COVER * area_px)
    {
        return Err(Unfit::TooLarge);
    }
    let ratio = |object: &Object| {
        let (width, height) = (object.bounds.width_px(), object.bounds.height_px());
        (width / height).max(height / width)
    };
    match objects.iter().any(|object| ratio(object) > MOST_RATIO) {
        true => Err(Unfit::TooNarrow),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: ImageSize = ImageSize {
        width_px: 100,
        height_px: 100,
    };

    fn object([x_min_px, y_min_px, x_max_px, y_max_px]: [f32; 4]) -> Object {
        let bounds = PixelBox {
            x_min_px,
            y_min_px,
            x_max_px,
            y_max_px,
        };
        Object { label: 0, bounds }
    }

    #[test]
    fn each_rule_drops_its_photographs() {
        let check = |boxes: &[[f32; 4]]| {
            let objects: Vec<Object> = boxes.iter().copied().map(object).collect();
            check(&objects, SIZE)
        };
        assert_eq!(check(&[]), Err(Unfit::WithoutObjects));
        assert_eq!(check(&[[0.0, 0.0, 60.0, 49.0]]), Ok(()));
        assert_eq!(check(&[[0.0, 0.0, 60.0, 51.0]]), Err(Unfit::TooLarge));
        assert_eq!(check(&[[0.0, 0.0, 20.0, 10.0]]), Ok(()));
        let pair = [[0.0, 0.0, 20.0, 20.0], [0.0, 0.0, 21.0, 10.0]];
        assert_eq!(check(&pair), Err(Unfit::TooNarrow));
        assert_eq!(check(&[[0.0, 0.0, 10.0, 21.0]]), Err(Unfit::TooNarrow));
    }

    #[test]
    fn boxes_end_at_the_border_and_those_outside_are_counted() {
        let boxes = [[-5.0, 90.0, 20.0, 130.0], [100.0, 0.0, 120.0, 10.0]];
        let (kept, useless) = inside(&boxes.map(object), SIZE);
        assert_eq!((kept, useless), (vec![object([0.0, 90.0, 20.0, 100.0])], 1));
    }
}
