//! Settings of the lifted optimisation.

use serde::{Deserialize, Serialize};

use super::{AssignedClassification, ExplorationConfig};
use crate::Error;
use crate::loss::{MeanDistance, check_window};
use crate::model::{ModelConfig, TaskNetwork};
use crate::proposals::Proposals;
use crate::settings::{ANGLE_RAD, Bounds, LENGTH_PX, WEIGHT, within};

/// Which comes first, the task network or the keypoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageOrder {
    /// Task network, keypoints, detector (Algorithm 1).
    TaskFirst,
    /// Keypoints, task network, detector (the released code).
    KeypointsFirst,
}

/// What the predictions of an image's patches are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelLoss {
    /// Their mean with the mean label (section 4.2).
    #[default]
    Mean,
    /// Each one with a label of its own: cross-entropy under the best assignment of the image's labels to its patches.
    Assigned,
}

impl LabelLoss {
    fn is_mean(&self) -> bool {
        *self == Self::Mean
    }
}

/// How the detector's squared error is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeatmapLoss {
    /// Sum over pixels and scales.
    Sum,
    /// Mean over pixels and scales, each image weighted by `exp(-sharpness * task loss)`.
    WeightedMean {
        /// How fast images with a high task loss lose weight.
        sharpness: f32,
    },
}

/// Settings of Algorithm 1; the default is the paper's, with the released code's numbers where the paper has none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LiftedConfig {
    /// Order of the stages.
    pub order: StageOrder,
    /// What each patch's prediction is compared with.
    #[serde(skip_serializing_if = "LabelLoss::is_mean")]
    pub label_loss: LabelLoss,
    /// How classification compares mean prediction and mean label.
    pub mean_distance: MeanDistance,
    /// Factor on the task loss.
    pub task_loss_factor: f32,
    /// Keypoints that start from hand-made proposals.
    pub proposals: ProposalConfig,
    /// What the keypoint stage looks at beside `E_K(H(I))`.
    pub exploration: ExplorationConfig,
    /// The keypoint stage.
    pub keypoints: KeypointConfig,
    /// Random changes of the patches that the task network learns from.
    pub jitter: JitterConfig,
    /// The detector stage.
    pub heatmap: HeatmapConfig,
}

/// Keypoints that start from hand-made proposals instead of `E_K(H(I))`; the paper has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProposalConfig {
    /// Training steps at the beginning whose keypoints are proposals and stay there.
    pub steps: u64,
    /// How they are computed.
    pub kind: Proposals,
    /// Whether they keep competing with `E_K(H(I))` afterwards: each image takes whichever has the lower task loss.
    pub compete: bool,
}

/// Settings of the keypoint stage: gradient descent on each image's own task loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KeypointConfig {
    /// Gradient steps.
    pub steps: usize,
    /// Step size, on one image's own loss.
    pub learning_rate: f32,
    /// How far one step moves a keypoint, or the edges of its box around it, at most; 0 sets no limit.
    pub max_step_px: f32,
    /// Momentum between the gradient steps of one training step.
    pub momentum: f32,
    /// Whether the scale moves too.
    pub move_scale: bool,
    /// Weight of the pull towards `E_K(H(I))`.
    pub lambda: f32,
}

/// Random changes of patches while the task network learns, each at most this large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JitterConfig {
    /// Shift along each axis.
    pub shift_px: f32,
    /// Change of scale, as a share.
    pub scale_frac: f32,
    /// Rotation; for classifiers only.
    pub rotation_rad: f32,
    /// Share of each patch's channels that are left out, for patches of features.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropout_frac: f32,
}

fn is_zero(value: &f32) -> bool {
    *value == 0.0
}

/// Settings of the detector stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HeatmapConfig {
    /// How the squared error is reduced.
    pub loss: HeatmapLoss,
    /// Window, odd, over which heatmap and target are summed before they are compared; 1 is the paper's.
    pub window_px: usize,
    /// Weighs each keypoint by its patch's probability of the image's own labels; for heatmaps on a backbone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub weigh_keypoints: bool,
}

impl Default for KeypointConfig {
    fn default() -> Self {
        Self {
            steps: 2,
            learning_rate: 312.5,
            max_step_px: 0.0,
            momentum: 0.0,
            move_scale: true,
            lambda: 0.0,
        }
    }
}

impl Default for HeatmapConfig {
    fn default() -> Self {
        Self {
            loss: HeatmapLoss::Sum,
            window_px: 1,
            weigh_keypoints: false,
        }
    }
}

impl Default for LiftedConfig {
    fn default() -> Self {
        Self {
            order: StageOrder::TaskFirst,
            label_loss: LabelLoss::Mean,
            mean_distance: MeanDistance::Squared,
            task_loss_factor: 1.0,
            proposals: ProposalConfig::default(),
            exploration: ExplorationConfig::default(),
            keypoints: KeypointConfig::default(),
            jitter: JitterConfig::default(),
            heatmap: HeatmapConfig::default(),
        }
    }
}

impl LiftedConfig {
    /// The released code's MNIST recipe: keypoints first, in x and y only, two steps of 312.5 per image.
    pub fn official() -> Self {
        Self {
            order: StageOrder::KeypointsFirst,
            task_loss_factor: 0.5,
            keypoints: KeypointConfig {
                move_scale: false,
                ..KeypointConfig::default()
            },
            heatmap: HeatmapConfig {
                loss: HeatmapLoss::WeightedMean { sharpness: 5.0 },
                ..HeatmapConfig::default()
            },
            ..Self::default()
        }
    }

    /// Refuses settings that a model cannot be trained with.
    ///
    /// # Errors
    /// When a number is out of bounds, or patches of an auto-encoder would be rotated.
    pub fn check(&self, model: &ModelConfig) -> Result<(), Error> {
        let (keypoints, jitter) = (&self.keypoints, &self.jitter);
        within([
            ("keypoints.learning_rate", keypoints.learning_rate, WEIGHT),
            ("keypoints.max_step_px", keypoints.max_step_px, LENGTH_PX),
            ("keypoints.momentum", keypoints.momentum, 0.0..=1.0),
            ("keypoints.lambda", keypoints.lambda, WEIGHT),
            ("jitter.shift_px", jitter.shift_px, LENGTH_PX),
            ("jitter.scale_frac", jitter.scale_frac, 0.0..=0.99),
            ("jitter.rotation_rad", jitter.rotation_rad, ANGLE_RAD),
            ("jitter.dropout_frac", jitter.dropout_frac, 0.0..=0.99),
            ("task_loss_factor", self.task_loss_factor, WEIGHT),
        ])?;
        if let HeatmapLoss::WeightedMean { sharpness } = self.heatmap.loss {
            within([("heatmap.loss.weighted_mean.sharpness", sharpness, WEIGHT)])?;
        }
        Bounds::new("keypoints.steps", 0, 1000).check(keypoints.steps)?;
        check_window(self.heatmap.window_px)?;
        self.exploration.check()?;
        let standard = self.exploration.searches()
            || self.proposals != ProposalConfig::default()
            || jitter.rotation_rad != 0.0;
        if model.backbone.is_some() && standard {
            return Err(Error::Setting {
                name: "proposals, exploration and jitter.rotation_rad",
                requirement: "left out for a heatmap on a backbone".into(),
            });
        }
        if model.backbone.is_none() && self.heatmap.weigh_keypoints {
            return Err(Error::Setting {
                name: "heatmap.weigh_keypoints",
                requirement: "false without a backbone".into(),
            });
        }
        let most = AssignedClassification::MOST_INSTANCES;
        if self.label_loss == LabelLoss::Assigned
            && (model.backbone.is_none() || model.extractor.instances > most)
        {
            return Err(Error::Setting {
                name: "label_loss",
                requirement: format!(
                    "`mean` without a backbone or with more than {most} instances"
                )
                .into(),
            });
        }
        if matches!(model.task, TaskNetwork::Autoencoder { .. }) && jitter.rotation_rad != 0.0 {
            return Err(Error::Setting {
                name: "jitter.rotation_rad",
                requirement: "0 for an auto-encoder: its patches are pasted upright".into(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_not_finite_and_endless_steps_are_refused() {
        let model = ModelConfig::official();
        assert!(LiftedConfig::default().check(&model).is_ok());
        let mut config = LiftedConfig::official();
        config.keypoints.momentum = f32::NAN;
        let message = config.check(&model).unwrap_err().to_string();
        assert!(message.contains("keypoints.momentum"), "{message}");
        let mut config = LiftedConfig::official();
        config.keypoints.steps = usize::MAX;
        assert!(config.check(&model).is_err());
    }
}
