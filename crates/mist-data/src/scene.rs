//! Scenes and their ground truth.

use mist_geometry::PixelBox;

use crate::image::Image;

/// One object of a scene.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Instance {
    /// Where it is.
    pub bounds: PixelBox,
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
        let labels = self.instances.iter().map(|instance| instance.label);
        count_labels(labels, classes)
    }
}

/// How often each label below `classes` occurs.
pub(crate) fn count_labels(labels: impl Iterator<Item = usize>, classes: usize) -> Vec<usize> {
    let mut counts = vec![0; classes];
    for label in labels {
        if let Some(count) = counts.get_mut(label) {
            *count += 1;
        }
    }
    counts
}

/// The square of the given side around a point.
///
/// The far edges are the near ones plus the side: what readers of COCO files compute.
pub(crate) fn square_around(x_px: f32, y_px: f32, side_px: f32) -> PixelBox {
    let (x_min_px, y_min_px) = (x_px - side_px / 2.0, y_px - side_px / 2.0);
    PixelBox {
        x_min_px,
        y_min_px,
        x_max_px: x_min_px + side_px,
        y_max_px: y_min_px + side_px,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_per_class() {
        let instance = |label| Instance {
            bounds: square_around(5.0, 6.0, 4.0),
            label,
            scale: 1.0,
            weight: 1.0,
        };
        let scene = Scene {
            image: Image::filled(8, 8, 1, 0.0),
            instances: vec![instance(2), instance(0), instance(2)],
        };
        assert_eq!(scene.class_counts(4), [1, 0, 2, 0]);
        assert_eq!(scene.instances[0].bounds.centre_px(), (5.0, 6.0));
    }
}
