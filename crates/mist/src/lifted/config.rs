//! Settings of the lifted optimisation.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::loss::{MeanDistance, check_window};
use crate::model::TaskNetwork;

/// Which comes first, the task network or the keypoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageOrder {
    /// Task network, keypoints, detector (Algorithm 1).
    TaskFirst,
    /// Keypoints, task network, detector (the released code).
    KeypointsFirst,
}

/// Where keypoints start that do not come from the heatmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seeds {
    /// Boxes that hold much and are surrounded by little: [`cover`](crate::extract::cover).
    Cover,
    /// Local maxima of contrast: [`Extractor::peaks`](crate::extract::Extractor::peaks).
    Peaks,
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

/// Settings of the three stages; what a file leaves out is as in the released code, so that files outlive new settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LiftedConfig {
    /// Order of the stages.
    pub order: StageOrder,
    /// Steps of the training whose keypoints start from seeds instead of E_K(H(I)), which knows nothing yet, and stay
    /// there; 0 is the paper's way.
    pub seeded_steps: u64,
    /// What the seeds are.
    pub seeds: Seeds,
    /// Whether those seeds go on to compete with E_K(H(I)) afterwards: of the two starts, each image takes the one that
    /// its task loss prefers.
    pub seeds_compete: bool,
    /// Side of covering boxes as a share of the base box: less than one where objects overlap heavily.
    pub seed_box_share: f32,
    /// A keypoint of E_K(H(I)) whose box holds less than this share of what the image's boxes hold on average is put on
    /// a free seed; 0 leaves all where they are.
    pub reseed_below: f32,
    /// Steps of the training over which scales smaller than the largest become allowed, the smallest last.
    pub coarse_to_fine_steps: u64,
    /// Gradient steps on the keypoints.
    pub keypoint_steps: usize,
    /// Their size, on one image's own loss.
    pub keypoint_rate: f32,
    /// How far one such step moves a keypoint, or the edges of its box around it, at most; 0 sets no limit.
    pub keypoint_limit_px: f32,
    /// Share of a keypoint's last step that is added to its next one, within one training step.
    pub keypoint_momentum: f32,
    /// Whether they move the scale as well.
    pub moves_scale: bool,
    /// How far patches are shifted at random, at most, while the task network learns.
    pub jitter_px: f32,
    /// How much they are enlarged or reduced at random, at most, as a share, while the task network learns.
    pub jitter_scale: f32,
    /// How much they are turned at random, at most, while a classifier learns.
    pub jitter_turn_rad: f32,
    /// Weight of the pull towards E_K(H(I)).
    pub lambda: f32,
    /// Steps of the training over which lambda grows to its value.
    pub lambda_warmup_steps: u64,
    /// How classification compares counts.
    pub mean_distance: MeanDistance,
    /// Factor on the task loss.
    pub task_loss_factor: f32,
    /// The detector's loss.
    pub heatmap_loss: HeatmapLoss,
    /// Window, odd, over which heatmap and target are added up before they are compared; 1 is the paper's way.
    pub heatmap_window_px: usize,
}

impl Default for LiftedConfig {
    fn default() -> Self {
        Self::official()
    }
}

impl LiftedConfig {
    /// Refuses settings with which a task network could not be trained.
    ///
    /// # Errors
    /// When a number is not finite, the heatmap's window is impossible, or patches are turned that are to be pasted upright.
    pub fn check(&self, task: &TaskNetwork) -> Result<(), Error> {
        let numbers = [
            ("seed_box_share", self.seed_box_share),
            ("reseed_below", self.reseed_below),
            ("keypoint_rate", self.keypoint_rate),
            ("keypoint_limit_px", self.keypoint_limit_px),
            ("keypoint_momentum", self.keypoint_momentum),
            ("jitter_px", self.jitter_px),
            ("jitter_scale", self.jitter_scale),
            ("jitter_turn_rad", self.jitter_turn_rad),
            ("lambda", self.lambda),
            ("task_loss_factor", self.task_loss_factor),
        ];
        if let Some((name, _)) = numbers.into_iter().find(|(_, value)| !value.is_finite()) {
            let requirement = "finite";
            return Err(Error::Setting { name, requirement });
        }
        check_window(self.heatmap_window_px)?;
        if matches!(task, TaskNetwork::Autoencoder { .. }) && self.jitter_turn_rad != 0.0 {
            return Err(Error::Setting {
                name: "jitter_turn_rad",
                requirement: "0 for an auto-encoder: its patches are pasted upright",
            });
        }
        Ok(())
    }

    /// The released code's MNIST recipe: keypoints first, two steps of 312.5 per image.
    pub fn official() -> Self {
        Self {
            order: StageOrder::KeypointsFirst,
            seeded_steps: 0,
            seeds: Seeds::Cover,
            seeds_compete: false,
            seed_box_share: 1.0,
            reseed_below: 0.0,
            coarse_to_fine_steps: 0,
            keypoint_steps: 2,
            keypoint_rate: 312.5,
            keypoint_limit_px: 0.0,
            keypoint_momentum: 0.0,
            moves_scale: false,
            jitter_px: 0.0,
            jitter_scale: 0.0,
            jitter_turn_rad: 0.0,
            lambda: 0.0,
            lambda_warmup_steps: 0,
            mean_distance: MeanDistance::Squared,
            task_loss_factor: 0.5,
            heatmap_loss: HeatmapLoss::WeightedMean { sharpness: 5.0 },
            heatmap_window_px: 1,
        }
    }
}
