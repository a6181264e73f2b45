//! What one training step reports.

use burn::tensor::Tensor;

use crate::geometry::{Keypoint, PixelBox};
use crate::measurements::Measurements;

/// What one step did: numbers for logs, panels for pictures.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// Losses and whatever else the method measures; all must be finite.
    pub measurements: Measurements,
    /// What a picture of the step shows beside the images, in order.
    pub panels: Vec<Panel>,
}

/// One view of the images of a step.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What it shows, in a word or two.
    pub name: &'static str,
    /// The view of each image.
    pub content: PanelContent,
}

/// What a panel draws.
#[derive(Clone, Debug)]
pub enum PanelContent {
    /// Not negative, in any range, summed over channels: `[batch, channels, height, width]`.
    Heatmaps(Tensor<4>),
    /// Values in `0..1`: `[batch, channels, height, width]`.
    Images(Tensor<4>),
    /// Boxes on each image.
    Boxes(Vec<Vec<PixelBox>>),
}

impl Panel {
    /// Maps of responses, `[batch, channels, height, width]`.
    pub fn heatmaps(name: &'static str, maps: Tensor<4>) -> Self {
        let content = PanelContent::Heatmaps(maps);
        Self { name, content }
    }

    /// The boxes of keypoints.
    pub fn keypoints(name: &'static str, keypoints: &[Vec<Keypoint>], base_box_px: f32) -> Self {
        let boxes = |image: &Vec<Keypoint>| {
            let boxes = image.iter().map(|keypoint| keypoint.to_box(base_box_px));
            boxes.collect()
        };
        let content = PanelContent::Boxes(keypoints.iter().map(boxes).collect());
        Self { name, content }
    }
}
