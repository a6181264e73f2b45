//! Scenes and their ground truth.

use crate::image::Image;

/// A position in pixels from the image's top-left corner; pixel (0, 0) spans 0..1 on both axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Rightwards.
    pub x_px: f32,
    /// Downwards.
    pub y_px: f32,
}

/// An axis-aligned box, in the order of COCO.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Left edge.
    pub left_px: f32,
    /// Top edge.
    pub top_px: f32,
    /// Extent along x.
    pub width_px: f32,
    /// Extent along y.
    pub height_px: f32,
}

impl Bounds {
    /// The square of the given side around a point.
    pub fn square_around(centre: Point, side_px: f32) -> Self {
        Self {
            left_px: centre.x_px - side_px / 2.0,
            top_px: centre.y_px - side_px / 2.0,
            width_px: side_px,
            height_px: side_px,
        }
    }

    /// The middle of the box.
    pub fn centre_px(&self) -> Point {
        Point {
            x_px: self.left_px + self.width_px / 2.0,
            y_px: self.top_px + self.height_px / 2.0,
        }
    }
}

/// One object of a scene.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Instance {
    /// Where it is.
    pub bounds: Bounds,
    /// Its class.
    pub label: usize,
    /// Its size as a factor of the set's base box.
    pub scale: f32,
    /// The weight of a Gabor impulse; 1 for every other kind.
    pub weight: f32,
}

/// An image and the objects in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// One channel.
    pub image: Image,
    /// Ground truth.
    pub instances: Vec<Instance>,
}

impl Scene {
    /// How many instances each of the first `classes` classes has: the only label MIST trains on.
    pub fn class_counts(&self, classes: usize) -> Vec<usize> {
        let mut counts = vec![0; classes];
        for instance in &self.instances {
            if let Some(count) = counts.get_mut(instance.label) {
                *count += 1;
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_per_class() {
        let instance = |label| Instance {
            bounds: Bounds::square_around(
                Point {
                    x_px: 5.0,
                    y_px: 6.0,
                },
                4.0,
            ),
            label,
            scale: 1.0,
            weight: 1.0,
        };
        let scene = Scene {
            image: Image::filled(8, 8, 1, 0.0),
            instances: vec![instance(2), instance(0), instance(2)],
        };
        assert_eq!(scene.class_counts(4), [1, 0, 2, 0]);
        assert_eq!(
            scene.instances[0].bounds.centre_px(),
            Point {
                x_px: 5.0,
                y_px: 6.0
            }
        );
    }
}
