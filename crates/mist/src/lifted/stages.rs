//! One step of Algorithm 1.

use burn::tensor::Tensor;

use super::{HeatmapLoss, LiftedConfig, StageOrder, Task};
use crate::Error;
use crate::geometry::Keypoint;
use crate::keypoints;
use crate::loss::heatmap_loss;
use crate::networks::{InputStatistics, NetworkModule};
use crate::sample::{PatchGeometry, sample};
use crate::splat::splat;
use crate::training::{Progress, Trainee};

/// What one step did, for logs and pictures.
#[derive(Clone, Debug)]
pub struct Step {
    /// Mean loss of the task, before the task network moved.
    pub task_loss: f32,
    /// Mean loss of the detector.
    pub heatmap_loss: f32,
    /// H(I), `[batch, scales, height, width]`.
    pub heatmaps: Tensor<4>,
    /// G of the moved keypoints, as `heatmaps`.
    pub targets: Tensor<4>,
    /// E_K(H(I)) of each image.
    pub found: Vec<Vec<Keypoint>>,
    /// Where the keypoint stage moved them.
    pub moved: Vec<Vec<Keypoint>>,
}

impl LiftedConfig {
    /// One step on a batch `[batch, channels, height, width]`.
    ///
    /// # Errors
    /// When the shapes do not belong together or the heatmap is not finite.
    pub fn step(
        &self,
        trainee: &mut Trainee,
        images: Tensor<4>,
        task: &impl Task,
        progress: Progress,
    ) -> Result<Step, Error> {
        let model = &trainee.model;
        self.check(&model.config().task)?;
        let images = model.foreground(images);
        let heatmap = if trainee.detector_rests(progress) {
            // A graph on which nobody walks back would be kept for ever.
            model.heatmap.frozen()
        } else {
            model.heatmap.clone()
        };
        let heatmaps = heatmap.forward(images.clone(), InputStatistics::Batch)?;
        let plain = heatmaps.clone().detach().inner();
        let seeded = self.seeded(progress);
        let found = self.starts(trainee, &images, plain.clone(), task, progress)?;
        let anchors = keypoints::to_tensor(&found, &images.device())?;
        let (moved, task_losses) = match self.order {
            _ if seeded => {
                let losses = self.task_stage(trainee, &images, anchors.clone(), task, progress)?;
                (anchors, losses)
            }
            StageOrder::TaskFirst => {
                let losses = self.task_stage(trainee, &images, anchors.clone(), task, progress)?;
                (
                    self.keypoint_stage(trainee, &images, anchors, task, progress)?,
                    losses,
                )
            }
            StageOrder::KeypointsFirst => {
                let moved = self.keypoint_stage(trainee, &images, anchors, task, progress)?;
                let losses = self.task_stage(trainee, &images, moved.clone(), task, progress)?;
                (moved, losses)
            }
        };
        let moved = keypoints::from_tensor(moved.inner())?;
        let levels = trainee.model.heatmap.levels();
        let [_, _, height, width] = heatmaps.dims();
        let targets = splat(&moved, levels, height, width, &images.device())?;
        let weights = task_losses.clone();
        let heatmap_loss = self.detector_stage(
            trainee,
            &images,
            heatmaps,
            targets.clone(),
            weights,
            progress,
        )?;
        Ok(Step {
            task_loss: task_losses.mean().inner().into_scalar(),
            heatmap_loss,
            heatmaps: plain,
            targets: targets.inner(),
            found,
            moved,
        })
    }

    /// Moves the keypoints down their own image's loss; the networks stay as they are.
    fn keypoint_stage(
        &self,
        trainee: &Trainee,
        images: &Tensor<4>,
        anchors: Tensor<3>,
        task: &impl Task,
        progress: Progress,
    ) -> Result<Tensor<3>, Error> {
        let frozen = trainee.model.task.frozen();
        let lambda = self.lambda_at(progress);
        let mut moved = anchors.clone();
        let mut last_step = anchors.clone().inner().zeros_like();
        for _ in 0..self.keypoint_steps {
            let leaf = moved.clone().detach().require_grad();
            let losses = self.task_losses(trainee, &frozen, images, leaf.clone(), task)?;
            let mut total = losses.sum();
            if lambda != 0.0 {
                let distance = (leaf.clone() - anchors.clone()).square().sum();
                total = total + distance * lambda;
            }
            let gradients = total.backward();
            let Some(gradient) = leaf.grad(&gradients) else {
                break;
            };
            let step = gradient * self.keypoint_rate + last_step * self.keypoint_momentum;
            last_step = self.limited(step, trainee.model.config().geometry);
            moved = moved - Tensor::from_inner(last_step.clone());
        }
        Ok(moved.detach())
    }

    fn lambda_at(&self, progress: Progress) -> f32 {
        let warm = (progress.step + 1) as f32 / self.lambda_warmup_steps.max(1) as f32;
        self.lambda * warm.min(1.0)
    }

    /// The step that the settings allow: no further than the limit, and in the scale only if it may move.
    ///
    /// The edges of a box move no further than its centre. Without a limit a step down a steep loss would leave a box
    /// without size, or one that holds the whole image.
    fn limited(&self, step: Tensor<3>, geometry: PatchGeometry) -> Tensor<3> {
        let (mut place, mut scale) = (step.clone().narrow(2, 0, 2), step.narrow(2, 2, 1));
        if self.keypoint_limit_px > 0.0 {
            let length = place.clone().square().sum_dim(2).sqrt();
            let share = (length.clamp_min(f32::MIN_POSITIVE).recip() * self.keypoint_limit_px)
                .clamp_max(1.0);
            place = place * share;
            let limit = 2.0 * self.keypoint_limit_px / geometry.base_box_px;
            scale = scale.clamp(-limit, limit);
        }
        if !self.moves_scale {
            scale = scale.zeros_like();
        }
        Tensor::cat(vec![place, scale], 2)
    }

    /// Moves the task network; returns the loss of each image.
    fn task_stage(
        &self,
        trainee: &mut Trainee,
        images: &Tensor<4>,
        points: Tensor<3>,
        task: &impl Task,
        progress: Progress,
    ) -> Result<Tensor<1>, Error> {
        let network = &trainee.model.task;
        let geometry = trainee.model.config().geometry;
        let (patches, points) =
            self.jittered_patches(images, points.detach(), geometry, progress)?;
        let losses = task.loss(network, images, patches, points)? * self.task_loss_factor;
        let gradients = losses.clone().mean().backward();
        trainee.move_task(&gradients, progress)?;
        Ok(losses.detach())
    }

    pub(super) fn task_losses(
        &self,
        trainee: &Trainee,
        network: &NetworkModule,
        images: &Tensor<4>,
        points: Tensor<3>,
        task: &impl Task,
    ) -> Result<Tensor<1>, Error> {
        let geometry = trainee.model.config().geometry;
        let patches = sample(images.clone(), points.clone(), geometry)?;
        Ok(task.loss(network, images, patches, points)? * self.task_loss_factor)
    }

    /// Moves the detector towards a heatmap with its maxima at the keypoints.
    fn detector_stage(
        &self,
        trainee: &mut Trainee,
        images: &Tensor<4>,
        heatmaps: Tensor<4>,
        targets: Tensor<4>,
        task_losses: Tensor<1>,
        progress: Progress,
    ) -> Result<f32, Error> {
        let [_, scales, height, width] = heatmaps.dims();
        let squares = heatmap_loss(heatmaps, targets, self.heatmap_window_px)?;
        let losses = match self.heatmap_loss {
            HeatmapLoss::Sum => squares,
            HeatmapLoss::WeightedMean { sharpness } => {
                let weights = (task_losses * -sharpness).exp();
                squares * weights / (scales * height * width) as f64
            }
        };
        let loss = losses.mean();
        if !trainee.detector_rests(progress) {
            let gradients = loss.backward();
            trainee.move_detector(&gradients, progress)?;
        }
        trainee.observe(images.clone());
        Ok(loss.inner().into_scalar())
    }
}
