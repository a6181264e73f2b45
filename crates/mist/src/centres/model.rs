//! What has learnt by this method.

use burn::tensor::Tensor;

use super::loss;
use super::maps::{large_maps, maps, outputs, resized, scale_of};
use super::peaks::Maps;
use crate::Error;
use crate::extract::{ScoredKeypoint, Selection};
use crate::finder::{Finder, Patches};
use crate::geometry::{Detection, Keypoint};
use crate::heatmap::resize;
use crate::large::{ImageView, LargeSearch};
use crate::model::Model;

/// A model whose detector tells heat and size of every pixel.
#[derive(Clone, Debug)]
pub struct CentreModel(pub(super) Model);

impl CentreModel {
    /// The networks and their settings.
    pub fn model(&self) -> &Model {
        &self.0
    }

    fn detections(&self, maps: &Maps, selection: Selection) -> Vec<Detection> {
        let base_box_px = self.0.config().geometry.base_box_px;
        let scale = scale_of(&self.0);
        let seen = maps.peaks(selection, base_box_px).into_iter();
        let in_image = |found: ScoredKeypoint| {
            let keypoint = Keypoint {
                x_px: found.keypoint.x_px * scale,
                y_px: found.keypoint.y_px * scale,
                scale: found.keypoint.scale * scale,
            };
            let score = found.score;
            self.0.detection(&ScoredKeypoint { keypoint, score }, 0)
        };
        seen.map(in_image).collect()
    }
}

impl Finder for CentreModel {
    fn channels(&self) -> usize {
        self.0.channels()
    }

    fn instances(&self) -> usize {
        self.0.instances()
    }

    fn classes(&self) -> Option<usize> {
        None
    }

    fn least_score(&self) -> Option<f32> {
        self.0.config().least_score
    }

    fn find(&self, images: Tensor<4>, k: &[usize]) -> Result<Vec<Vec<Detection>>, Error> {
        let maps = maps(&self.0, images)?;
        let found = maps.iter().zip(k);
        Ok(found
            .map(|(maps, &k)| self.detections(maps, Selection::Strongest(k)))
            .collect())
    }

    fn find_at_least(
        &self,
        images: Tensor<4>,
        score: f32,
    ) -> Result<Option<Vec<Vec<Detection>>>, Error> {
        let maps = maps(&self.0, images)?;
        let selection = Selection::AtLeast(score);
        let found = maps.iter().map(|maps| self.detections(maps, selection));
        Ok(Some(found.collect()))
    }

    fn find_large(
        &self,
        image: ImageView<'_>,
        selection: Selection,
        search: LargeSearch,
    ) -> Result<Option<Vec<Detection>>, Error> {
        let maps = large_maps(&self.0, image, search)?;
        Ok(Some(self.detections(&maps, selection)))
    }

    fn heatmap_large(
        &self,
        image: ImageView<'_>,
        search: LargeSearch,
    ) -> Result<Option<Vec<f32>>, Error> {
        if scale_of(&self.0) != 1.0 {
            return Ok(None);
        }
        Ok(Some(large_maps(&self.0, image, search)?.heat))
    }

    fn large_memory_bytes(&self, width_px: usize, height_px: usize, search: LargeSearch) -> u64 {
        search.memory_bytes(&self.0, width_px, height_px)
    }

    fn heatmap(&self, images: Tensor<4>) -> Result<Option<Tensor<4>>, Error> {
        let [_, _, height, width] = images.dims();
        let seen = resized(&self.0, self.0.foreground(images))?;
        let [scores, _] = outputs(&self.0, seen)?;
        Ok(Some(resize(loss::heat(scores), height, width)?))
    }

    fn redraw(
        &self,
        images: Tensor<4>,
        found: &[Vec<Detection>],
    ) -> Result<Option<Tensor<4>>, Error> {
        self.0.redraw(images, found)
    }

    fn patches(
        &self,
        images: Tensor<4>,
        found: &[Vec<Detection>],
    ) -> Result<Option<Patches>, Error> {
        self.0.patches(images, found)
    }

    fn to_safetensors(&self) -> Result<Vec<u8>, Error> {
        self.0.to_safetensors()
    }
}
