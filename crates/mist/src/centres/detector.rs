//! The step of H, which all ways of this training have in common.

use burn::tensor::Tensor;

use super::targets::Targets;
use super::{CentresConfig, loss};
use crate::Error;
use crate::geometry::Keypoint;
use crate::measurements::Measurements;
use crate::networks::InputStatistics;
use crate::training::{Panel, PanelContent, Progress, TrainedModel};

/// What H made of a batch before it moved.
pub(super) struct DetectorStep {
    pub losses: [f64; 2],
    images: Tensor<4>,
    heat: Tensor<4>,
    target: Tensor<4>,
}

impl DetectorStep {
    /// Moves H towards G of the keypoints of each image.
    pub fn take(
        trained: &mut TrainedModel,
        config: &CentresConfig,
        images: Tensor<4>,
        keypoints: &[Vec<Keypoint>],
        progress: Progress,
    ) -> Result<Self, Error> {
        let [_, _, height, width] = images.dims();
        let device = images.device();
        let model = &trained.model;
        let detector = &model.heatmap.detector;
        let output = detector.forward(images.clone(), InputStatistics::Batch)?;
        let (scores, sizes) = (output.clone().narrow(1, 0, 1), output.narrow(1, 1, 1));
        let base_box_px = model.config().geometry.base_box_px;
        let spread_px = |scale: f32| scale * base_box_px * config.spread_frac;
        let targets = Targets::new(keypoints, [height, width], spread_px, &device);
        let heat = loss::heat(scores.clone().detach().inner());
        let [heat_loss, size_loss] = loss::losses(scores, sizes, &targets, config.focus);
        let sum = heat_loss.clone() + size_loss.clone() * config.size_weight;
        trained.step_detector(&sum.backward(), progress)?;
        let scalar = |loss: Tensor<1>| f64::from(loss.inner().into_scalar::<f32>());
        Ok(Self {
            losses: [scalar(heat_loss), scalar(size_loss)],
            images: images.inner(),
            heat,
            target: targets.heat.inner(),
        })
    }

    /// With the loss of T.
    pub fn measurements(&self, task_loss: f32) -> Measurements {
        Measurements::new()
            .with("task_loss", f64::from(task_loss))
            .with("heatmap_loss", self.losses[0])
            .with("size_loss", self.losses[1])
    }

    /// What H saw, what it made of it, and what it should have made.
    pub fn panels(self) -> [Panel; 3] {
        [
            Panel {
                name: "seen",
                content: PanelContent::Images(self.images),
            },
            Panel::heatmaps("heatmap", self.heat),
            Panel::heatmaps("target", self.target),
        ]
    }
}
