//! Positions of samples in their source along one axis.

use super::padded::MARGIN_PX;

/// Samples along x or y: their neighbours in the source, and the derivatives of their positions by the keypoint.
#[derive(Default)]
pub(super) struct Axis {
    /// Index of the first sample in the output.
    pub first: usize,
    /// Index of each sample's left neighbour in the padded source; the right one follows it.
    pub lower: Vec<usize>,
    /// Distance of each sample from its left neighbour.
    pub fraction: Vec<f32>,
    /// Derivative of every position by the box's centre.
    pub by_centre: f32,
    /// Derivative of each position by the scale.
    pub by_scale: Vec<f32>,
}

impl Axis {
    /// The pixels of a patch in an image of `image_px`: all of them.
    pub fn place_patch(
        &mut self,
        centre_px: f32,
        scale: f32,
        base_box_px: f32,
        patch_px: usize,
        image_px: usize,
    ) {
        self.clear();
        self.by_centre = 1.0;
        let side_px = scale * base_box_px;
        let half_steps = (2 * patch_px) as f32;
        for index in 0..patch_px {
            // Whole half pixels, so that samples meant for pixel centres land on them exactly.
            let step = (2 * index + 1) as f32 - patch_px as f32;
            self.push(centre_px + side_px * step / half_steps - 0.5, image_px);
            self.by_scale.push(base_box_px * step / half_steps);
        }
    }

    /// The pixels of an image of `image_px` in a patch: those that the box touches.
    pub fn place_image(
        &mut self,
        centre_px: f32,
        scale: f32,
        base_box_px: f32,
        image_px: usize,
        patch_px: usize,
    ) {
        self.clear();
        let patch = patch_px as f32;
        let side_px = scale * base_box_px;
        let (side_px, by_side) = if side_px < f32::MIN_POSITIVE {
            (f32::MIN_POSITIVE, 0.0)
        } else {
            (side_px, base_box_px / side_px)
        };
        self.by_centre = -patch / side_px;
        for index in 0..image_px {
            let from_centre_px = index as f32 + 0.5 - centre_px;
            let position = (from_centre_px / side_px + 0.5) * patch - 0.5;
            // Written so that NaN is not skipped and shows in the image.
            if position < -1.0 || position >= patch {
                continue;
            }
            if self.lower.is_empty() {
                self.first = index;
            }
            self.push(position, patch_px);
            self.by_scale
                .push(self.by_centre * from_centre_px * by_side);
        }
    }

    pub fn len(&self) -> usize {
        self.lower.len()
    }

    fn clear(&mut self) {
        self.first = 0;
        self.lower.clear();
        self.fraction.clear();
        self.by_scale.clear();
    }

    /// Adds a sample; `position` counts pixels from the first one's centre.
    fn push(&mut self, position: f32, source_px: usize) {
        // Beyond the source both neighbours are in the margin, which is zero.
        let position = position.clamp(-(MARGIN_PX as f32), source_px as f32);
        // `floor`, which is a slow call on some instruction sets.
        let towards_zero = position as i32;
        let lower = towards_zero - i32::from(towards_zero as f32 > position);
        self.lower.push((lower + MARGIN_PX as i32) as usize);
        self.fraction.push(position - lower as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_meant_for_pixel_centres_have_no_fraction() {
        let mut axis = Axis::default();
        for half_patch_px in 1..=20 {
            let patch_px = 2 * half_patch_px;
            axis.place_patch(20.0, 1.0, patch_px as f32, patch_px, 80);
            assert!(axis.fraction.iter().all(|&fraction| fraction == 0.0));
            assert_eq!(axis.lower[0] + half_patch_px, 20 + MARGIN_PX);
        }
    }

    #[test]
    fn only_touched_pixels_are_pasted_to() {
        let mut axis = Axis::default();
        axis.place_image(20.0, 1.0, 8.0, 1000, 8);
        assert_eq!((axis.first, axis.len()), (15, 9));
        axis.place_image(-1e6, 1.0, 8.0, 1000, 8);
        assert_eq!(axis.len(), 0);
    }

    #[test]
    fn any_number_is_safe() {
        let extremes = [0.0, -0.0, 1e-45, 1e30, -1e30, f32::INFINITY, f32::NAN];
        let mut axis = Axis::default();
        for centre_px in extremes {
            for scale in extremes {
                axis.place_patch(centre_px, scale, 20.0, 5, 7);
                assert!(
                    axis.lower
                        .iter()
                        .all(|&lower| lower + 1 < 7 + 2 * MARGIN_PX)
                );
                axis.place_image(centre_px, scale, 20.0, 7, 5);
                assert!(
                    axis.lower
                        .iter()
                        .all(|&lower| lower + 1 < 5 + 2 * MARGIN_PX)
                );
            }
        }
    }
}
