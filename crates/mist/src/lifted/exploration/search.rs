//! The search of one step: pool, votes, exchanges.

use burn::tensor::Tensor;

use super::pool::{ImageHeatmap, Pool};
use super::{ChosenSet, ExplorationConfig, Moment};
use crate::Error;
use crate::geometry::Keypoint;
use crate::keypoints;
use crate::lifted::task::{Task, select};
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
    /// Better places for the keypoints, and the number of exchanges in all images. Without a search, or before the
    /// release, the keypoints stay.
    pub(in crate::lifted) fn search<T: Task>(
        &self,
        own: &[Vec<Keypoint>],
        search: &Search<'_, T>,
    ) -> Result<(Vec<Vec<Keypoint>>, usize), Error> {
        if !self.searches() || search.moment.released_at.is_none() {
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
        let mut random = search.moment.random();
        let moved_px = search
            .moment
            .between(self.pool.moved_px, self.pool.final_moved_px);
        let images = values.chunks_exact(scales * height_px * width_px);
        let pools: Vec<Pool> = own
            .iter()
            .zip(images)
            .map(|(own, maps)| {
                let heatmap = heatmap(maps);
                self.pool.candidates(own, heatmap, moved_px, &mut random)
            })
            .collect();
        let rule = self.exchanges.at(search.moment);
        let hopeful = search.hopeful(own, rule.least_margin())?;
        let searched: Vec<&Pool> = hopeful.iter().map(|&image| &pools[image]).collect();
        let places: Vec<Vec<Keypoint>> = searched.iter().map(|pool| pool.places.clone()).collect();
        let instances = own.first().map_or(0, Vec::len);
        let votes = search.votes(&hopeful, &places, instances)?;
        let mut exchanges = 0;
        let mut found = own.to_vec();
        for ((&image, pool), mut votes) in hopeful.iter().zip(searched).zip(votes) {
            let mut chosen: Vec<usize> = (0..instances).collect();
            exchanges += rule.exchange(pool, &mut chosen, votes.as_mut());
            found[image] = chosen.iter().map(|&chosen| pool.places[chosen]).collect();
        }
        Ok((found, exchanges))
    }
}

impl<T: Task> Search<'_, T> {
    /// The images in which an exchange can lower the loss by more than `margin`: those whose loss is higher than that.
    fn hopeful(&self, own: &[Vec<Keypoint>], margin: f32) -> Result<Vec<usize>, Error> {
        let all: Vec<usize> = (0..own.len()).collect();
        if margin == 0.0 {
            return Ok(all);
        }
        let votes = self.votes(&all, own, own.first().map_or(0, Vec::len))?;
        let images = all.into_iter().zip(votes);
        let images = images.filter(|(_, votes)| votes.loss() > margin);
        Ok(images.map(|(image, _)| image).collect())
    }

    /// The votes on places of some images, of which the first `instances` are the keypoints.
    fn votes(
        &self,
        images: &[usize],
        places: &[Vec<Keypoint>],
        instances: usize,
    ) -> Result<Vec<Box<dyn ChosenSet>>, Error> {
        if images.is_empty() {
            return Ok(Vec::new());
        }
        let model = &self.trained.model;
        let pixels = select(self.images.clone(), images);
        let points = keypoints::to_tensor(places, &pixels.device())?;
        let patches = sample(pixels.clone(), points.clone(), model.config().geometry)?;
        let task = self.task.of_images(images);
        task.votes(&model.task.frozen(), &pixels, patches, points, instances)
    }
}
