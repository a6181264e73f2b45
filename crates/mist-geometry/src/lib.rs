//! Keypoints, boxes, and labelled boxes: what is true and what was detected.
//!
//! One coordinate system serves everywhere: pixels from the image's top-left corner, x to the right,
//! y down, so that the first pixel's centre is (0.5, 0.5) and an image of width `w` spans `0..w`.

#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

/// The parameters `x_k = (x_k, y_k, s_k)` of one patch (paper, section 4.1): its centre and its scale.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Keypoint {
    /// Horizontal centre, in pixels from the left edge.
    pub x_px: f32,
    /// Vertical centre, in pixels from the top edge.
    pub y_px: f32,
    /// Factor on the base box side; 1 is the base size.
    pub scale: f32,
}

impl Keypoint {
    /// The square box of side `base_box_px * scale` around this keypoint.
    pub fn to_box(self, base_box_px: f32) -> PixelBox {
        let side_px = base_box_px * self.scale;
        PixelBox::from_centre(self.x_px, self.y_px, side_px, side_px)
    }
}

/// An axis-aligned box, in pixels from the image's top-left corner; it may reach beyond the image.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PixelBox {
    /// Left edge.
    pub x_min_px: f32,
    /// Top edge.
    pub y_min_px: f32,
    /// Right edge.
    pub x_max_px: f32,
    /// Bottom edge.
    pub y_max_px: f32,
}

impl PixelBox {
    /// A box of the given width and height around a centre.
    pub fn from_centre(x_px: f32, y_px: f32, width_px: f32, height_px: f32) -> Self {
        Self {
            x_min_px: x_px - width_px / 2.0,
            y_min_px: y_px - height_px / 2.0,
            x_max_px: x_px + width_px / 2.0,
            y_max_px: y_px + height_px / 2.0,
        }
    }

    /// Horizontal extent; zero for an inverted box.
    pub fn width_px(self) -> f32 {
        (self.x_max_px - self.x_min_px).max(0.0)
    }

    /// Vertical extent; zero for an inverted box.
    pub fn height_px(self) -> f32 {
        (self.y_max_px - self.y_min_px).max(0.0)
    }

    /// Area in square pixels.
    pub fn area_px2(self) -> f32 {
        self.width_px() * self.height_px()
    }

    /// Centre as (x, y).
    pub fn centre_px(self) -> (f32, f32) {
        (
            (self.x_min_px + self.x_max_px) / 2.0,
            (self.y_min_px + self.y_max_px) / 2.0,
        )
    }

    fn is_finite(self) -> bool {
        [self.x_min_px, self.y_min_px, self.x_max_px, self.y_max_px]
            .iter()
            .all(|edge| edge.is_finite())
    }

    /// Intersection over union, 0 where the union is empty or an edge is not finite.
    pub fn iou(self, other: Self) -> f32 {
        let overlap = Self {
            x_min_px: self.x_min_px.max(other.x_min_px),
            y_min_px: self.y_min_px.max(other.y_min_px),
            x_max_px: self.x_max_px.min(other.x_max_px),
            y_max_px: self.y_max_px.min(other.y_max_px),
        }
        .area_px2();
        let union = self.area_px2() + other.area_px2() - overlap;
        if union > 0.0 && self.is_finite() && other.is_finite() {
            overlap / union
        } else {
            0.0
        }
    }
}

/// One true instance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// Where it is.
    pub bounds: PixelBox,
    /// Its class.
    pub label: usize,
}

/// One detected instance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Detection {
    /// Where it was found.
    pub bounds: PixelBox,
    /// The class it was given.
    pub label: usize,
    /// How sure the detector is; only the order matters.
    pub score: f32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_boxes_of_20_px_keep_half_their_union_up_to_the_documented_offsets() {
        let at = |x, y| PixelBox::from_centre(x, y, 20.0, 20.0);
        assert!(at(0.0, 0.0).iou(at(6.66, 0.0)) > 0.5);
        assert!(at(0.0, 0.0).iou(at(6.68, 0.0)) < 0.5);
        assert!(at(0.0, 0.0).iou(at(3.66, 3.66)) > 0.5);
        assert!(at(0.0, 0.0).iou(at(3.68, 3.68)) < 0.5);
    }

    #[test]
    fn disjoint_and_empty_boxes_have_no_overlap() {
        let unit = PixelBox::from_centre(0.0, 0.0, 1.0, 1.0);
        assert_eq!(unit.iou(PixelBox::from_centre(5.0, 0.0, 1.0, 1.0)), 0.0);
        let empty = PixelBox::from_centre(0.0, 0.0, 0.0, 0.0);
        assert_eq!(empty.iou(empty), 0.0);
        let broken = PixelBox {
            x_min_px: f32::NAN,
            ..unit
        };
        assert_eq!(broken.iou(unit), 0.0);
    }

    #[test]
    fn a_keypoint_grows_its_box_with_its_scale() {
        let keypoint = Keypoint {
            x_px: 10.0,
            y_px: 12.0,
            scale: 1.5,
        };
        let bounds = keypoint.to_box(20.0);
        assert_eq!((bounds.width_px(), bounds.height_px()), (30.0, 30.0));
        assert_eq!(bounds.centre_px(), (10.0, 12.0));
    }
}
