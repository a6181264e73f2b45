//! One step of Algorithm 1.

use burn::tensor::Tensor;

use super::exploration::Search;
use super::{HeatmapLoss, LiftedConfig, Moment, StageOrder, Task};
use crate::Error;
use crate::geometry::Keypoint;
use crate::heatmap::{HeatmapTarget, resize};
use crate::keypoints;
use crate::measurements::Measurements;
use crate::networks::{InputStatistics, NetworkModule};
use crate::sample::{PatchGeometry, Source};
use crate::training::{Panel, Step, TrainedModel, random_of_image};

/// What one step computed.
#[derive(Clone, Debug)]
pub struct LiftedStep {
    /// Mean loss of the task, before the task network moved.
    pub task_loss: f32,
    /// Mean loss of the detector.
    pub heatmap_loss: f32,
    /// H(I), `[batch, scales, height, width]`; of a backbone's heatmap the response, as large as the image.
    pub heatmaps: Tensor<4>,
    /// G of the moved keypoints, as `heatmaps`.
    pub targets: Tensor<4>,
    /// Where the keypoints of each image started: `E_K(H(I))`, or proposals where the settings say so.
    pub start: Vec<Vec<Keypoint>>,
    /// Where the keypoint stage moved them.
    pub moved: Vec<Vec<Keypoint>>,
    /// Keypoints that were exchanged for other places, in all images.
    pub exchanges: usize,
}

impl LiftedStep {
    /// The losses, and panels of heatmaps, targets and boxes.
    pub(crate) fn report(self, base_box_px: f32) -> Step {
        let losses = Measurements::new()
            .with("task_loss", f64::from(self.task_loss))
            .with("heatmap_loss", f64::from(self.heatmap_loss));
        Step {
            measurements: losses,
            panels: vec![
                Panel::heatmaps("heatmap", self.heatmaps),
                Panel::heatmaps("target", self.targets),
                Panel::keypoints("start", &self.start, base_box_px),
                Panel::keypoints("moved", &self.moved, base_box_px),
            ],
        }
    }
}

/// Maps as large as the image: coarse ones are resized, and may need to lose channels before.
fn shown(
    source: &Source,
    maps: Tensor<4>,
    responses: impl Fn(Tensor<4>) -> Tensor<4>,
) -> Result<Tensor<4>, Error> {
    if source.stride_px == 1.0 {
        return Ok(maps);
    }
    let [_, _, height, width] = maps.dims();
    let side_px = |cells: usize| (cells as f32 * source.stride_px) as usize;
    resize(responses(maps), side_px(height), side_px(width))
}

impl LiftedConfig {
    /// One step on what a model sees of a batch; what is random depends on the moment alone.
    ///
    /// # Errors
    /// When the shapes do not belong together or the heatmap is not finite.
    pub fn step(
        &self,
        trained: &mut TrainedModel,
        source: Source,
        task: &impl Task,
        moment: Moment,
    ) -> Result<LiftedStep, Error> {
        let progress = moment.progress;
        let model = &trained.model;
        let images = source.maps.clone();
        let heatmap = if moment.freezes_detector(trained) {
            // A graph that is never differentiated would stay in memory.
            model.heatmap.frozen()
        } else {
            model.heatmap.clone()
        };
        let heatmaps = heatmap.forward(images.clone(), InputStatistics::Batch)?;
        let plain = heatmaps.clone().detach().inner();
        let start = self.start_keypoints(trained, &source, plain.clone(), task, progress)?;
        let anchors = keypoints::to_tensor(&start, &images.device())?;
        let first_image = trained.ranks().rank() * images.dims()[0];
        let images_drawn = |image| random_of_image(moment.seed, progress.step, first_image + image);
        let task_stage = |trained: &mut TrainedModel, points: Tensor<3>| {
            let geometry = trained.model.config().geometry;
            let jitter = self.exploration.centring.jitter(self.jitter, moment);
            let points = points.detach();
            let (patches, points) = jitter.patches(&source, points, geometry, &images_drawn)?;
            self.task_stage(trained, &images, patches, points, task, moment)
        };
        let mut exchanges = 0;
        let mut keypoint_stage = |trained: &TrainedModel, anchors: Tensor<3>| {
            let search = Search {
                trained,
                images: &images,
                heatmaps: &plain,
                task,
                moment,
            };
            let (explored, made) = self.exploration.search(&start, &search)?;
            exchanges = made;
            let explored = keypoints::to_tensor(&explored, &images.device())?;
            self.keypoint_stage(trained, &source, explored, anchors, task)
        };
        let (moved, task_losses) = match self.order {
            _ if self.starts_from_proposals(progress) => {
                let losses = task_stage(trained, anchors.clone())?;
                (anchors, losses)
            }
            StageOrder::TaskFirst => {
                let losses = task_stage(trained, anchors.clone())?;
                (keypoint_stage(trained, anchors)?, losses)
            }
            StageOrder::KeypointsFirst => {
                let moved = keypoint_stage(trained, anchors)?;
                let losses = task_stage(trained, moved.clone())?;
                (moved, losses)
            }
        };
        let keypoint_weights = match self.heatmap.weigh_keypoints {
            true => {
                let geometry = trained.model.config().geometry;
                let patches = source.sample(moved.clone(), geometry)?;
                task.keypoint_weights(&trained.model.task.frozen(), patches)?
            }
            false => None,
        };
        let moved = keypoints::from_tensor(moved.inner())?;
        let [_, _, height, width] = heatmaps.dims();
        let targets = trained.model.heatmap.target(
            &moved,
            keypoint_weights.as_deref(),
            [height, width],
            &images.device(),
        )?;
        let weights = task_losses.clone();
        let heatmap_loss =
            self.detector_stage(trained, &images, heatmaps, targets.clone(), weights, moment)?;
        Ok(LiftedStep {
            task_loss: trained.ranks().mean_value(task_losses)?,
            heatmap_loss,
            heatmaps: shown(&source, plain, |maps| trained.model.heatmap.response(maps))?,
            targets: shown(&source, targets.response().inner(), |maps| maps)?,
            start,
            moved,
            exchanges,
        })
    }

    /// Gradient descent of the keypoints on their own image's loss; the networks stay as they are.
    fn keypoint_stage(
        &self,
        trained: &TrainedModel,
        source: &Source,
        start: Tensor<3>,
        anchors: Tensor<3>,
        task: &impl Task,
    ) -> Result<Tensor<3>, Error> {
        let config = &self.keypoints;
        let frozen = trained.model.task.frozen();
        let mut moved = start;
        let mut last_step = anchors.clone().inner().zeros_like();
        for _ in 0..config.steps {
            let leaf = moved.clone().detach().require_grad();
            let losses = self.task_losses(trained, &frozen, source, leaf.clone(), task)?;
            let mut total = losses.sum();
            if config.lambda != 0.0 {
                let distance = (leaf.clone() - anchors.clone()).square().sum();
                total = total + distance * config.lambda;
            }
            let gradients = total.backward();
            let gradient = leaf.grad(&gradients).ok_or(Error::NoGradient)?;
            let step = gradient * config.learning_rate + last_step * config.momentum;
            last_step = self.limited(step, trained.model.config().geometry);
            moved = moved - Tensor::from_inner(last_step.clone());
        }
        Ok(moved.detach())
    }

    /// The step that the settings allow: no further than the limit, and in the scale only if it may move.
    ///
    /// The edges of a box move no further than its centre. Without a limit a step down a steep loss would leave a box
    /// without size, or one that holds the whole image.
    fn limited(&self, step: Tensor<3>, geometry: PatchGeometry) -> Tensor<3> {
        let config = &self.keypoints;
        let (mut place, mut scale) = (step.clone().narrow(2, 0, 2), step.narrow(2, 2, 1));
        if config.max_step_px > 0.0 {
            let length = place.clone().square().sum_dim(2).sqrt();
            let share =
                (length.clamp_min(f32::MIN_POSITIVE).recip() * config.max_step_px).clamp_max(1.0);
            place = place * share;
            let limit = 2.0 * config.max_step_px / geometry.base_box_px;
            scale = scale.clamp(-limit, limit);
        }
        if !config.move_scale {
            scale = scale.zeros_like();
        }
        Tensor::cat(vec![place, scale], 2)
    }

    /// Updates the task network; returns the loss of each image.
    fn task_stage(
        &self,
        trained: &mut TrainedModel,
        images: &Tensor<4>,
        patches: Tensor<5>,
        points: Tensor<3>,
        task: &impl Task,
        moment: Moment,
    ) -> Result<Tensor<1>, Error> {
        let network = &trained.model.task;
        let losses = task.loss(network, images, patches, points)? * self.task_loss_factor;
        let gradients = trained.ranks().mean(losses.clone()).backward();
        let rate_frac = match moment.released_at {
            Some(_) => 1.0,
            None => self.exploration.release.task_rate_frac,
        };
        trained.step_task_at(&gradients, moment.since_release(), rate_frac)?;
        Ok(losses.detach())
    }

    pub(super) fn task_losses(
        &self,
        trained: &TrainedModel,
        network: &NetworkModule,
        source: &Source,
        points: Tensor<3>,
        task: &impl Task,
    ) -> Result<Tensor<1>, Error> {
        let geometry = trained.model.config().geometry;
        let patches = source.sample(points.clone(), geometry)?;
        Ok(task.loss(network, &source.maps, patches, points)? * self.task_loss_factor)
    }

    /// Updates the detector towards a heatmap with its maxima at the keypoints.
    fn detector_stage(
        &self,
        trained: &mut TrainedModel,
        images: &Tensor<4>,
        heatmaps: Tensor<4>,
        targets: HeatmapTarget,
        task_losses: Tensor<1>,
        moment: Moment,
    ) -> Result<f32, Error> {
        let [_, channels, height, width] = heatmaps.dims();
        // Offsets have a loss of their own.
        let scales = trained.model.heatmap.levels().values().len().min(channels);
        let heatmap = &trained.model.heatmap;
        let found = heatmap.losses(heatmaps, targets, self.heatmap.window_px)?;
        let squares = found.response;
        let losses = match self.heatmap.loss {
            HeatmapLoss::Sum => squares,
            HeatmapLoss::WeightedMean { sharpness } => {
                let weights = (task_losses * -sharpness).exp();
                squares * weights / (scales * height * width) as f64
            }
        };
        let losses = match found.offsets {
            Some(offsets) => losses + offsets,
            None => losses,
        };
        let loss = trained.ranks().mean(losses.clone());
        if !moment.freezes_detector(trained) {
            let gradients = loss.backward();
            trained.step_detector(&gradients, moment.of_search())?;
        }
        trained.observe_input(images.clone())?;
        trained.ranks().mean_value(losses)
    }
}
