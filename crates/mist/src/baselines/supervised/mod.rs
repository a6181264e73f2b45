//! The upper bound of Table 2: the same networks, trained on true centres and the class of each patch.

mod learner;
mod photographs;

pub use learner::SupervisedLearner;

use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor, TensorData};
use rand::rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::geometry::{Keypoint, Truth};
use crate::lifted::LiftedStep;
use crate::loss::{check_window, heatmap_loss};
use crate::networks::InputStatistics;
use crate::sample::{RotatedKeypoint, sample_rotated};
use crate::settings::{ANGLE_RAD, LENGTH_PX, within};
use crate::splat::splat;
use crate::training::{Progress, TrainedModel, random_of_image};

/// Settings of supervised training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SupervisedConfig {
    /// Patches are cut out at most this far from the true centre along each axis, as the detector's will be.
    pub jitter_shift_px: f32,
    /// And rotated by at most this much.
    pub jitter_rotation_rad: f32,
    /// Window, odd, over which heatmap and target are summed before they are compared; 1 is the paper's.
    pub heatmap_window_px: usize,
}

impl Default for SupervisedConfig {
    fn default() -> Self {
        Self {
            jitter_shift_px: 0.0,
            jitter_rotation_rad: 0.0,
            heatmap_window_px: 1,
        }
    }
}

impl SupervisedConfig {
    /// Refuses impossible settings.
    ///
    /// # Errors
    /// When a number is out of bounds or the heatmap's window is impossible.
    pub fn check(&self) -> Result<(), Error> {
        within([
            ("jitter_shift_px", self.jitter_shift_px, LENGTH_PX),
            ("jitter_rotation_rad", self.jitter_rotation_rad, ANGLE_RAD),
        ])?;
        check_window(self.heatmap_window_px)
    }

    /// One step on a batch `[batch, channels, height, width]` whose images have equally many truths; what is random
    /// depends on `seed` and the step alone.
    ///
    /// # Errors
    /// When the images differ in their number of truths or the shapes do not belong together.
    pub fn step(
        &self,
        trained: &mut TrainedModel,
        images: Tensor<4>,
        truths: &[Vec<Truth>],
        seed: u64,
        progress: Progress,
    ) -> Result<LiftedStep, Error> {
        let device = images.device();
        let images = trained.model.foreground(images);
        let config = trained.model.config().clone();
        let centres: Vec<Vec<Keypoint>> = truths
            .iter()
            .map(|image| {
                image
                    .iter()
                    .map(|truth| centre(truth, config.geometry.base_box_px))
                    .collect()
            })
            .collect();
        let first_image = trained.ranks().rank() * centres.len();
        let rotated = self.jittered(&centres, first_image, seed, progress);
        let patches = sample_rotated(&images, &rotated, config.geometry)?;
        let [batch, instances, channels, height, width] = patches.dims();
        let patches = patches.reshape([batch * instances, channels, height, width]);
        let logits = trained
            .model
            .task
            .forward(patches, InputStatistics::Running)?;
        let classes = logits.dims()[1];
        let logits = logits.reshape([batch * instances, classes]);
        let labels: Vec<i64> = truths.iter().flatten().map(|t| t.label as i64).collect();
        let labels = TensorData::new(labels, [batch * instances, 1]);
        let labels = Tensor::<2, Int>::from_data(labels, &device);
        let ranks = trained.ranks().clone();
        let task_losses = log_softmax(logits, 1).gather(1, labels).neg();
        let task_losses = task_losses.reshape([batch * instances]);
        let most = ranks.largest(instances)?;
        if most != instances {
            return Err(Error::Mismatch {
                what: "objects of images in one batch",
                expected: vec![most],
                actual: vec![instances],
            });
        }
        trained.step_task(&ranks.mean(task_losses.clone()).backward(), progress)?;

        let heatmaps = trained
            .model
            .heatmap
            .forward(images.clone(), InputStatistics::Batch)?;
        let [_, scales, height, width] = heatmaps.dims();
        let levels = trained.model.heatmap.levels();
        let targets = splat(&centres, levels, height, width, &device)?;
        let plain = heatmaps.clone().detach().inner();
        let squares = heatmap_loss(heatmaps, targets.clone(), self.heatmap_window_px)?;
        let losses = squares / (scales * height * width) as f64;
        trained.step_detector(&ranks.mean(losses.clone()).backward(), progress)?;
        trained.observe_input(images)?;
        let start = rotated.into_iter().map(|image| {
            let upright = image.into_iter().map(|rotated| rotated.keypoint);
            upright.collect()
        });
        Ok(LiftedStep {
            task_loss: ranks.mean_value(task_losses)?,
            heatmap_loss: ranks.mean_value(losses)?,
            heatmaps: plain,
            targets: targets.inner(),
            start: start.collect(),
            moved: centres,
            exchanges: 0,
        })
    }

    /// The centres, shifted and rotated at random: in each image first all shifts, then all rotations.
    fn jittered(
        &self,
        centres: &[Vec<Keypoint>],
        first_image: usize,
        seed: u64,
        progress: Progress,
    ) -> Vec<Vec<RotatedKeypoint>> {
        let images = centres.iter().zip(first_image..);
        let jittered = images.map(|(centres, image)| {
            let mut random = random_of_image(seed, progress.step, image);
            let mut within = |most: f32| {
                let share = random.next_u32() as f32 / u32::MAX as f32;
                most * (share * 2.0 - 1.0)
            };
            let mut rotated: Vec<RotatedKeypoint> = centres
                .iter()
                .map(|point| RotatedKeypoint {
                    keypoint: Keypoint {
                        x_px: point.x_px + within(self.jitter_shift_px),
                        y_px: point.y_px + within(self.jitter_shift_px),
                        scale: point.scale,
                    },
                    rotation_rad: 0.0,
                })
                .collect();
            for keypoint in &mut rotated {
                keypoint.rotation_rad = within(self.jitter_rotation_rad);
            }
            rotated
        });
        jittered.collect()
    }
}

fn centre(truth: &Truth, base_box_px: f32) -> Keypoint {
    let (x_px, y_px) = truth.bounds.centre_px();
    Keypoint {
        x_px,
        y_px,
        scale: (truth.bounds.x_max_px - truth.bounds.x_min_px) / base_box_px,
    }
}
