//! The search of one step: pool, votes, exchanges.

use burn::tensor::Tensor;

use super::pool::{ImageHeatmap, Pool};
use super::{ExplorationConfig, Moment};
use crate::Error;
use crate::geometry::Keypoint;
use crate::keypoints;
use crate::lifted::Task;
use crate::sample::sample;
use crate::training::TrainedModel;

/// What a search reads.
pub(in crate::lifted) struct Search<'a, T: Task> {
    /// The task network votes, and stays as it is.
    pub trained: &'a TrainedModel,
    /// `[batch, channels, height, width]`, without their background.
    pub images: &'a Tensor<4>,
    /// H(I) of `images`, `[batch, scales, height, width]`, without autodiff.
    pub heatmaps: &'a Tensor<4>,
    /// The task.
    pub task: &'a T,
    /// When.
    pub moment: Moment,
}

impl ExplorationConfig {
    /// Better places for the keypoints, and the number of exchanges in all images. Without a search, before the release
    /// or once the detector has settled, the keypoints stay.
    pub(in crate::lifted) fn search<T: Task>(
        &self,
        own: &[Vec<Keypoint>],
        search: &Search<'_, T>,
    ) -> Result<(Vec<Vec<Keypoint>>, usize), Error> {
        let moment = search.moment;
        if !self.searches() || moment.released_at.is_none() || moment.is_settled() {
            return Ok((own.to_vec(), 0));
        }
        let [_, scales, height_px, width_px] = search.heatmaps.dims();
        let values = search.heatmaps.clone().try_into_vec_as::<f32>()?;
        let config = search.trained.model.config();
        let heatmap = |maps| ImageHeatmap {
            maps,
            levels: search.trained.model.heatmap.levels(),
            height_px,
            width_px,
            radius_px: config.extractor.nms_window_px / 2,
        };
        let first_image = search.trained.ranks().rank() * own.len();
        let moved_px = search
            .moment
            .between(self.pool.moved_px, self.pool.final_moved_px);
        let images = values.chunks_exact(scales * height_px * width_px);
        let pools: Vec<Pool> = own
            .iter()
            .zip(images)
            .zip(first_image..)
            .map(|((own, maps), image)| {
                let heatmap = heatmap(maps);
                let mut random = search.moment.random(image);
                self.pool.candidates(own, heatmap, moved_px, &mut random)
            })
            .collect();
        let places: Vec<Vec<Keypoint>> = pools.iter().map(|pool| pool.places.clone()).collect();
        let points = keypoints::to_tensor(&places, &search.images.device())?;
        let patches = sample(search.images.clone(), points.clone(), config.geometry)?;
        let instances = own.first().map_or(0, Vec::len);
        let frozen = search.trained.model.task.frozen();
        let votes = search
            .task
            .votes(&frozen, search.images, patches, points, instances)?;
        let mut exchanges = 0;
        let found = pools.iter().zip(votes).map(|(pool, mut votes)| {
            let mut chosen: Vec<usize> = (0..instances).collect();
            exchanges += self.exchanges.exchange(pool, &mut chosen, votes.as_mut());
            chosen.iter().map(|&chosen| pool.places[chosen]).collect()
        });
        Ok((found.collect(), exchanges))
    }
}
