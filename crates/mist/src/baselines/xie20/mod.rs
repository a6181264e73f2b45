//! Differentiable top-k in the place of E_K (paper, appendix C.2, "Differentiable top-K").
//!
//! The operator masks, it does not select: every place of a coarse map is classified, and the loss compares the mean label with
//! `p m / K`. On photographs the map is that of MIST; without a backbone it comes from a network of regions, which the paper
//! found to work better than a heatmap that is made smaller.

mod learner;
mod photographs;
mod regions;

pub use learner::Xie20Learner;

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::loss::MeanDistance;
use crate::model::ModelConfig;
use crate::networks::{EncoderConfig, InputStatistics, NetworkModule};
use crate::settings::{Bounds, within};
use crate::soft_top_k::SoftTopK;
use crate::training::Progress;

/// Settings of the method.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Xie20Config {
    /// Which operator makes the masks.
    pub top_k: SoftTopK,
    /// How soft the masks are: the weight of the entropy, the width of Laplace's distribution, or the deviation of the noise.
    pub epsilon: f32,
    /// What it falls to in the course of the training, by the same factor at each step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_epsilon: Option<f32>,
    /// How the masked mean prediction is compared with the mean label; the paper's last equation has the square.
    pub mean_distance: MeanDistance,
    /// On photographs: cells of the heatmap, along each side, that make one place.
    pub cells: usize,
    /// Without a backbone: the network of regions, whose places are `2^levels` px wide.
    pub regions: EncoderConfig,
    /// Without a backbone: how far the centre of a box may move from that of its place along each axis, in places. It moves
    /// along the gradient of the loss through S.
    pub offset_cells: f32,
}

impl Default for Xie20Config {
    fn default() -> Self {
        Self {
            top_k: SoftTopK::ClosedForm,
            epsilon: 0.1,
            final_epsilon: None,
            mean_distance: MeanDistance::Squared,
            cells: 2,
            regions: EncoderConfig {
                base_channels: 16,
                levels: 3,
                blocks_per_level: 1,
                ..EncoderConfig::paper(1)
            },
            offset_cells: 0.5,
        }
    }
}

/// What a step's masks depend on beside the scores.
#[derive(Clone, Copy, Debug)]
struct Moment {
    seed: u64,
    progress: Progress,
}

impl Xie20Config {
    /// Refuses settings that a model cannot be trained with.
    ///
    /// # Errors
    /// When a number is out of range.
    pub fn check(&self, model: &ModelConfig) -> Result<(), Error> {
        within([
            ("epsilon", self.epsilon, 1e-4..=100.0),
            (
                "final_epsilon",
                self.final_epsilon.unwrap_or(1.0),
                1e-4..=100.0,
            ),
            ("offset_cells", self.offset_cells, 0.0..=4.0),
        ])?;
        self.top_k.check()?;
        Bounds::new("cells", 1, 64).check(self.cells)?;
        if model.task.classes().is_none() {
            return Err(Error::Setting {
                name: "model.task",
                requirement: "a classifier: masks weigh predictions".into(),
            });
        }
        if model.backbone.is_none() && self.regions.in_channels != model.image_channels() {
            return Err(Error::Setting {
                name: "regions.in_channels",
                requirement: format!("{}, as the images have", model.image_channels()).into(),
            });
        }
        Ok(())
    }

    /// How soft masks are at a step.
    fn epsilon_at(&self, progress: Progress) -> f32 {
        let last = self.final_epsilon.unwrap_or(self.epsilon);
        let done = progress.step as f32 / progress.steps.max(1) as f32;
        self.epsilon * (last / self.epsilon).powf(done.min(1.0))
    }

    /// The loss of each image, `[batch]`, when every place is classified: the paper's last equation.
    ///
    /// # Shapes
    /// - `scores`: `[batch, places]`
    /// - `patches`: `[batch, places, channels, patch_px, patch_px]`
    /// - `mean_labels`: `[batch, classes]`
    fn losses(
        &self,
        task: &NetworkModule,
        instances: usize,
        scores: Tensor<2>,
        patches: Tensor<5>,
        mean_labels: Tensor<2>,
        moment: Moment,
    ) -> Result<Tensor<1>, Error> {
        let [batch, places, channels, height, width] = patches.dims();
        let epsilon = self.epsilon_at(moment.progress);
        let step = moment.progress.step;
        let masks = self
            .top_k
            .masks(scores, instances, epsilon, moment.seed, step)?;
        let patches = patches.reshape([batch * places, channels, height, width]);
        let logits = task.forward(patches, InputStatistics::Running)?;
        let classes = logits.dims()[1];
        let probabilities = softmax(logits.reshape([batch, places, classes]), 2);
        let masked = probabilities * masks.reshape([batch, places, 1]);
        let predicted = masked.sum_dim(1).reshape([batch, classes]) / instances as f64;
        self.mean_distance.losses(mean_labels, predicted)
    }
}
