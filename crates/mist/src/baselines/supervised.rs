//! The upper bound of Table 2: the same networks, taught true centres and the class of each patch.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::geometry::{Keypoint, Truth};
use crate::lifted::Step;
use crate::loss::{check_window, heatmap_loss};
use crate::networks::InputStatistics;
use crate::sample::{TurnedKeypoint, sample_turned};
use crate::splat::splat;
use crate::training::{Progress, Trainee};

/// Settings of the supervised training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SupervisedConfig {
    /// Patches are cut out this far from the true centre at most, as the detector's will be.
    pub jitter_px: f32,
    /// And turned by at most this much.
    #[serde(default)]
    pub jitter_turn_rad: f32,
    /// Window, odd, over which heatmap and target are added up before they are compared.
    #[serde(default = "one")]
    pub heatmap_window_px: usize,
}

fn one() -> usize {
    1
}

impl SupervisedConfig {
    /// Refuses settings that no training could be run with.
    ///
    /// # Errors
    /// When a number is not finite or the heatmap's window is impossible.
    pub fn check(&self) -> Result<(), Error> {
        let numbers = [
            ("jitter_px", self.jitter_px),
            ("jitter_turn_rad", self.jitter_turn_rad),
        ];
        if let Some((name, _)) = numbers.into_iter().find(|(_, value)| !value.is_finite()) {
            let requirement = "finite";
            return Err(Error::Setting { name, requirement });
        }
        check_window(self.heatmap_window_px)
    }

    /// One step on a batch `[batch, channels, height, width]` whose images hold equally many truths.
    ///
    /// `shift` gives numbers in -1..1, in a fixed order, for the jitter of the patches.
    ///
    /// # Errors
    /// When the images differ in their number of truths or the shapes do not belong together.
    pub fn step(
        &self,
        trainee: &mut Trainee,
        images: Tensor<4>,
        truths: &[Vec<Truth>],
        mut shift: impl FnMut() -> f32,
        progress: Progress,
    ) -> Result<Step, Error> {
        let device = images.device();
        let images = trainee.model.foreground(images);
        let config = trainee.model.config().clone();
        let centres: Vec<Vec<Keypoint>> = truths
            .iter()
            .map(|image| {
                image
                    .iter()
                    .map(|truth| centre(truth, config.geometry.base_box_px))
                    .collect()
            })
            .collect();

        let jittered: Vec<Vec<Keypoint>> = centres
            .iter()
            .map(|image| {
                let moved = image.iter().map(|point| Keypoint {
                    x_px: point.x_px + self.jitter_px * shift(),
                    y_px: point.y_px + self.jitter_px * shift(),
                    scale: point.scale,
                });
                moved.collect()
            })
            .collect();
        let turned: Vec<Vec<TurnedKeypoint>> = jittered
            .iter()
            .map(|image| {
                let turned = image.iter().map(|&keypoint| TurnedKeypoint {
                    keypoint,
                    turn_rad: self.jitter_turn_rad * shift(),
                });
                turned.collect()
            })
            .collect();
        let patches = sample_turned(&images, &turned, config.geometry)?;
        let [batch, instances, channels, height, width] = patches.dims();
        let patches = patches.reshape([batch * instances, channels, height, width]);
        let logits = trainee
            .model
            .task
            .forward(patches, InputStatistics::Running)?;
        let classes = logits.dims()[1];
        let logits = logits.reshape([batch * instances, classes]);
        let labels: Vec<i64> = truths.iter().flatten().map(|t| t.label as i64).collect();
        let labels = TensorData::new(labels, [batch * instances, 1]);
        let labels = Tensor::<2, Int>::from_data(labels, &device);
        let task_loss = log_softmax(logits, 1).gather(1, labels).mean().neg();
        trainee.move_task(&task_loss.backward(), progress)?;

        let heatmaps = trainee
            .model
            .heatmap
            .forward(images.clone(), InputStatistics::Batch)?;
        let [_, scales, height, width] = heatmaps.dims();
        let levels = trainee.model.heatmap.levels();
        let targets = splat(&centres, levels, height, width, &device)?;
        let plain = heatmaps.clone().detach().inner();
        let squares = heatmap_loss(heatmaps, targets.clone(), self.heatmap_window_px)?;
        let loss = squares.mean() / (scales * height * width) as f64;
        trainee.move_detector(&loss.backward(), progress)?;
        trainee.observe(images);
        Ok(Step {
            task_loss: task_loss.inner().into_scalar(),
            heatmap_loss: loss.inner().into_scalar(),
            heatmaps: plain,
            targets: targets.inner(),
            found: jittered,
            moved: centres,
        })
    }
}

fn centre(truth: &Truth, base_box_px: f32) -> Keypoint {
    let bounds = truth.bounds;
    Keypoint {
        x_px: (bounds.x_min_px + bounds.x_max_px) / 2.0,
        y_px: (bounds.y_min_px + bounds.y_max_px) / 2.0,
        scale: (bounds.x_max_px - bounds.x_min_px) / base_box_px,
    }
}
