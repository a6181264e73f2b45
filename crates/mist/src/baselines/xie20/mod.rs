//! Differentiable top-k in the place of E_K (paper, appendix C.2, "Differentiable top-K").
//!
//! The operator masks, it does not select: every place of a coarse map is classified, and the loss compares the mean label with
//! `p m / K`.

mod learner;
mod top_k;

pub use learner::Xie20Learner;
pub use top_k::{soft_top_k, soft_top_k_by_sinkhorn, soft_top_k_masks};

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::geometry::Keypoint;
use crate::keypoints;
use crate::measurements::Measurements;
use crate::networks::InputStatistics;
use crate::sample::Source;
use crate::settings::{Bounds, within};
use crate::training::{Progress, Step, TrainedModel};

/// Settings of the method.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Xie20Config {
    /// Weight of the entropy: how soft the masks are.
    pub epsilon: f32,
    /// Cells of the heatmap, along each side, that make one place; every place is classified.
    pub cells: usize,
}

impl Default for Xie20Config {
    fn default() -> Self {
        Self {
            epsilon: 0.1,
            cells: 2,
        }
    }
}

impl Xie20Config {
    /// Refuses impossible settings.
    ///
    /// # Errors
    /// When a number is out of range.
    pub fn check(&self) -> Result<(), Error> {
        within([("epsilon", self.epsilon, 1e-4..=100.0)])?;
        Bounds::new("cells", 1, 64).check(self.cells)
    }

    /// One step: both networks move along the gradient of one loss.
    ///
    /// # Shapes
    /// - `mean_labels`: `[batch, classes]`
    ///
    /// # Errors
    /// When the shapes do not belong together.
    pub fn step(
        &self,
        trained: &mut TrainedModel,
        source: &Source,
        mean_labels: Tensor<2>,
        progress: Progress,
    ) -> Result<Step, Error> {
        let model = &trained.model;
        let config = model.config();
        let instances = config.extractor.instances;
        let heatmaps = model
            .heatmap
            .forward(source.maps.clone(), InputStatistics::Batch)?;
        let response = heatmaps.narrow(1, 0, 1);
        let (scores, places) = self.places(response, source.stride_px);
        let [batch, locations] = scores.dims();
        let masks = soft_top_k_masks(scores, instances, self.epsilon)?;
        let points = keypoints::to_tensor(&vec![places; batch], &source.maps.device())?;
        let patches = source.sample(points, config.geometry)?;
        let [_, _, channels, height, width] = patches.dims();
        let patches = patches.reshape([batch * locations, channels, height, width]);
        let logits = model.task.forward(patches, InputStatistics::Running)?;
        let classes = logits.dims()[1];
        let probabilities = softmax(logits.reshape([batch, locations, classes]), 2);
        let masked = probabilities * masks.reshape([batch, locations, 1]);
        let predicted = masked.sum_dim(1).reshape([batch, classes]) / instances as f64;
        let losses = (mean_labels - predicted).square().sum_dim(1);
        let losses = losses.reshape([batch]);
        let ranks = trained.ranks().clone();
        let gradients = ranks.mean(losses.clone()).backward();
        trained.step_task(&gradients, progress)?;
        trained.step_detector(&gradients, progress)?;
        let loss = ranks.mean_value(losses)?;
        Ok(Step {
            measurements: Measurements::new().with("task_loss", f64::from(loss)),
            panels: Vec::new(),
        })
    }

    /// Mean response of each place, `[batch, places]`, and the places' centres.
    fn places(&self, response: Tensor<4>, stride_px: f32) -> (Tensor<2>, Vec<Keypoint>) {
        let [batch, _, height, width] = response.dims();
        let (rows, columns) = ((height / self.cells).max(1), (width / self.cells).max(1));
        let (tall, wide) = (height / rows, width / columns);
        let cut = response
            .narrow(2, 0, rows * tall)
            .narrow(3, 0, columns * wide);
        let places = cut.reshape([batch, rows, tall, columns, wide]);
        let scores = places
            .mean_dim(4)
            .mean_dim(2)
            .reshape([batch, rows * columns]);
        let centre = |index: usize, cells: usize| (index as f32 + 0.5) * cells as f32 * stride_px;
        let keypoints = (0..rows * columns).map(|place| Keypoint {
            x_px: centre(place % columns, wide),
            y_px: centre(place / columns, tall),
            scale: 1.0,
        });
        (scores, keypoints.collect())
    }
}
