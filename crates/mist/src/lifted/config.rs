//! Settings of the lifted optimisation.

use serde::{Deserialize, Serialize};

use super::AdamConfig;
use crate::extract::Extractor;
use crate::sample::PatchGeometry;

/// Which comes first, the task network or the keypoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageOrder {
    /// Task network, keypoints, detector (Algorithm 1).
    TaskFirst,
    /// Keypoints, task network, detector (the released code).
    KeypointsFirst,
}

/// How the detector's squared error is added up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeatmapLoss {
    /// Sum over pixels and scales.
    Sum,
    /// Mean over pixels and scales, each image weighted by `exp(-sharpness * task loss)`.
    WeightedMean {
        /// How fast images that the task network cannot explain lose weight.
        sharpness: f32,
    },
}

/// Settings of [`Lifted`](super::Lifted).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiftedConfig {
    /// E_K.
    pub extractor: Extractor,
    /// S.
    pub geometry: PatchGeometry,
    /// Order of the stages.
    pub order: StageOrder,
    /// Gradient steps on the keypoints.
    pub keypoint_steps: usize,
    /// Their size, on one image's own loss.
    pub keypoint_rate: f32,
    /// Whether they move the scale as well.
    pub moves_scale: bool,
    /// Weight of the pull towards E_K(H(I)).
    pub lambda: f32,
    /// Factor on the task loss.
    pub task_loss_factor: f32,
    /// The detector's loss.
    pub heatmap_loss: HeatmapLoss,
    /// Optimiser of the task network.
    pub task_adam: AdamConfig,
    /// Optimiser of the detector.
    pub detector_adam: AdamConfig,
}

impl LiftedConfig {
    /// The released code's MNIST recipe: nine boxes of 20 px, two keypoint steps of 312.5 per image.
    pub fn official() -> Self {
        Self {
            extractor: Extractor::new(9),
            geometry: PatchGeometry::mnist(),
            order: StageOrder::KeypointsFirst,
            keypoint_steps: 2,
            keypoint_rate: 312.5,
            moves_scale: false,
            lambda: 0.0,
            task_loss_factor: 0.5,
            heatmap_loss: HeatmapLoss::WeightedMean { sharpness: 5.0 },
            task_adam: AdamConfig::default(),
            detector_adam: AdamConfig::default(),
        }
    }
}
