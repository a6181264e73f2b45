//! One step of Algorithm 1.

use burn::tensor::Tensor;

use super::{Adam, HeatmapLoss, LiftedConfig, StageOrder, Task};
use crate::Error;
use crate::heatmap::HeatmapNetwork;
use crate::keypoints;
use crate::loss::heatmap_loss;
use crate::networks::{InputStatistics, NetworkModule};
use crate::sample::sample;
use crate::splat::splat;

/// The two networks under training and their optimisers.
#[derive(Debug)]
pub struct Lifted {
    /// H.
    pub heatmap: HeatmapNetwork,
    /// T.
    pub task: NetworkModule,
    config: LiftedConfig,
    task_adam: Adam,
    detector_adam: Adam,
}

/// What one step measured, means over the batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepReport {
    /// Loss of the task, before the task network moved.
    pub task_loss: f32,
    /// Loss of the detector.
    pub heatmap_loss: f32,
}

impl Lifted {
    /// Starts training; both networks live on a device with autodiff.
    pub fn new(heatmap: HeatmapNetwork, task: NetworkModule, config: LiftedConfig) -> Self {
        let count = |module: &NetworkModule| module.network().parameter_count();
        Self {
            task_adam: Adam::new(config.task_adam, count(&task)),
            detector_adam: Adam::new(config.detector_adam, count(&heatmap.detector)),
            heatmap,
            task,
            config,
        }
    }

    /// One step on a batch `[batch, channels, height, width]`.
    ///
    /// # Errors
    /// When the shapes do not belong together or the heatmap is not finite.
    pub fn step(&mut self, images: Tensor<4>, task: &impl Task) -> Result<StepReport, Error> {
        let heatmaps = self
            .heatmap
            .forward(images.clone(), InputStatistics::Batch)?;
        let found = self
            .config
            .extractor
            .extract(heatmaps.clone().detach().inner(), self.heatmap.levels())?;
        let anchors: Vec<Vec<_>> = found
            .into_iter()
            .map(|image| image.into_iter().map(|found| found.keypoint).collect())
            .collect();
        let anchors = keypoints::to_tensor(&anchors, &images.device())?;
        let (moved, task_losses) = match self.config.order {
            StageOrder::TaskFirst => {
                let losses = self.task_stage(&images, anchors.clone(), task)?;
                (self.keypoint_stage(&images, anchors, task)?, losses)
            }
            StageOrder::KeypointsFirst => {
                let moved = self.keypoint_stage(&images, anchors, task)?;
                let losses = self.task_stage(&images, moved.clone(), task)?;
                (moved, losses)
            }
        };
        let heatmap_loss = self.detector_stage(&images, heatmaps, moved, task_losses.clone())?;
        Ok(StepReport {
            task_loss: task_losses.mean().inner().into_scalar(),
            heatmap_loss,
        })
    }

    /// Moves the keypoints down their own image's loss; the networks stay as they are.
    fn keypoint_stage(
        &self,
        images: &Tensor<4>,
        anchors: Tensor<3>,
        task: &impl Task,
    ) -> Result<Tensor<3>, Error> {
        let frozen = self.task.frozen();
        let mut moved = anchors.clone();
        for _ in 0..self.config.keypoint_steps {
            let leaf = moved.clone().detach().require_grad();
            let losses = self.task_losses(&frozen, images, leaf.clone(), task)?;
            let mut total = losses.sum();
            if self.config.lambda != 0.0 {
                let distance = (leaf.clone() - anchors.clone()).square().sum();
                total = total + distance * self.config.lambda;
            }
            let gradients = total.backward();
            let Some(gradient) = leaf.grad(&gradients) else {
                break;
            };
            let step = Tensor::from_inner(gradient) * self.config.keypoint_rate;
            moved = if self.config.moves_scale {
                moved - step
            } else {
                let scale = moved.clone().narrow(2, 2, 1);
                Tensor::cat(vec![(moved - step).narrow(2, 0, 2), scale], 2)
            };
        }
        Ok(moved.detach())
    }

    /// Moves the task network; returns the loss of each image.
    fn task_stage(
        &mut self,
        images: &Tensor<4>,
        points: Tensor<3>,
        task: &impl Task,
    ) -> Result<Tensor<1>, Error> {
        let losses = self.task_losses(&self.task, images, points.detach(), task)?;
        let gradients = losses.clone().mean().backward();
        let parameters = self.task.parameters.val();
        if let Some(gradient) = parameters.grad(&gradients) {
            let parameters = self.task_adam.step(parameters, gradient)?;
            self.task = self.task.clone().with_parameters(parameters)?;
        }
        Ok(losses.detach())
    }

    fn task_losses(
        &self,
        network: &NetworkModule,
        images: &Tensor<4>,
        points: Tensor<3>,
        task: &impl Task,
    ) -> Result<Tensor<1>, Error> {
        let patches = sample(images.clone(), points.clone(), self.config.geometry)?;
        Ok(task.loss(network, patches, points)? * self.config.task_loss_factor)
    }

    /// Moves the detector towards a heatmap with its maxima at the keypoints.
    fn detector_stage(
        &mut self,
        images: &Tensor<4>,
        heatmaps: Tensor<4>,
        points: Tensor<3>,
        task_losses: Tensor<1>,
    ) -> Result<f32, Error> {
        let [_, scales, height, width] = heatmaps.dims();
        let points = keypoints::from_tensor(points.inner())?;
        let target = splat(
            &points,
            self.heatmap.levels(),
            height,
            width,
            &images.device(),
        )?;
        let squares = heatmap_loss(heatmaps, target)?;
        let losses = match self.config.heatmap_loss {
            HeatmapLoss::Sum => squares,
            HeatmapLoss::WeightedMean { sharpness } => {
                let weights = (task_losses * -sharpness).exp();
                squares * weights / (scales * height * width) as f64
            }
        };
        let loss = losses.mean();
        let gradients = loss.backward();
        let detector = &self.heatmap.detector;
        let parameters = detector.parameters.val();
        if let Some(gradient) = parameters.grad(&gradients) {
            let parameters = self.detector_adam.step(parameters, gradient)?;
            let moved = detector.clone().with_parameters(parameters)?;
            self.heatmap.detector = moved.observe_input(images.clone());
        }
        Ok(loss.inner().into_scalar())
    }
}
