//! Where the keypoints of a step start.

use burn::tensor::Tensor;

use super::{LiftedConfig, Task};
use crate::Error;
use crate::extract::without_scores;
use crate::geometry::Keypoint;
use crate::keypoints;
use crate::sample::Source;
use crate::training::{Progress, TrainedModel};

impl LiftedConfig {
    /// Whether keypoints are still proposals at this step.
    pub(super) fn starts_from_proposals(&self, progress: Progress) -> bool {
        progress.step < self.proposals.steps
    }

    /// Proposals at first; then `E_K(H(I))`, or the proposals where they compete and have the lower task loss.
    pub(super) fn start_keypoints(
        &self,
        trained: &TrainedModel,
        source: &Source,
        heatmaps: Tensor<4>,
        task: &impl Task,
        progress: Progress,
    ) -> Result<Vec<Vec<Keypoint>>, Error> {
        let config = trained.model.config();
        let proposals = || {
            let images = source.maps.clone().inner();
            self.proposals.kind.keypoints(images, config)
        };
        if self.starts_from_proposals(progress) {
            return proposals();
        }
        let heatmap = &trained.model.heatmap;
        let own = without_scores(heatmap.extract(&config.extractor, heatmaps)?);
        if !self.proposals.compete {
            return Ok(own);
        }
        let proposals = proposals()?;
        let frozen = trained.model.task.frozen();
        let losses = |keypoints: &[Vec<Keypoint>]| -> Result<Vec<f32>, Error> {
            let points = keypoints::to_tensor(keypoints, &source.maps.device())?;
            let losses = self.task_losses(trained, &frozen, source, points, task)?;
            Ok(losses.inner().try_into_vec_as::<f32>()?)
        };
        let losses = losses(&own)?.into_iter().zip(losses(&proposals)?);
        let starts = own.into_iter().zip(proposals).zip(losses);
        Ok(starts
            .map(|((own, proposed), (own_loss, proposed_loss))| {
                if proposed_loss < own_loss {
                    proposed
                } else {
                    own
                }
            })
            .collect())
    }
}
