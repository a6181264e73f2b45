//! What has learnt by this method.

use burn::tensor::Tensor;

use super::loss;
use super::maps::{large_labels, large_maps, maps, outputs, resized, scale_of};
use super::peaks::Maps;
use crate::Error;
use crate::extract::{ScoredKeypoint, Selection};
use crate::finder::{Finder, Patches};
use crate::geometry::{Detection, Keypoint};
use crate::heatmap::resize;
use crate::large::{ImageView, LargeSearch};
use crate::model::Model;

/// Keypoints of a large image whose patches are read at once.
const LABELLED_AT_ONCE: usize = 256;

/// A model whose detector tells heat and size of every pixel.
#[derive(Clone, Debug)]
pub struct CentreModel(pub(super) Model);

impl CentreModel {
    /// The networks and their settings.
    pub fn model(&self) -> &Model {
        &self.0
    }

    /// The peaks of maps, in pixels that H sees.
    fn peaks(&self, maps: &Maps, selection: Selection) -> Vec<ScoredKeypoint> {
        maps.peaks(selection, self.0.config().geometry.base_box_px)
    }

    /// Boxes in pixels of the image.
    fn detections(&self, labelled: Vec<(ScoredKeypoint, usize)>) -> Vec<Detection> {
        let scale = scale_of(&self.0);
        let in_image = |(found, label): (ScoredKeypoint, usize)| {
            let keypoint = Keypoint {
                x_px: found.keypoint.x_px * scale,
                y_px: found.keypoint.y_px * scale,
                scale: found.keypoint.scale * scale,
            };
            let score = found.score;
            self.0.detection(&ScoredKeypoint { keypoint, score }, label)
        };
        labelled.into_iter().map(in_image).collect()
    }

    /// What is found in each image, with the labels of T.
    fn search(
        &self,
        images: Tensor<4>,
        selection: impl Fn(usize) -> Selection,
    ) -> Result<Vec<Vec<Detection>>, Error> {
        let seen = resized(&self.0, self.0.foreground(images))?;
        let maps = maps(&self.0, seen.clone())?;
        let mut detections = Vec::with_capacity(maps.len());
        for (index, maps) in maps.iter().enumerate() {
            let found = self.peaks(maps, selection(index));
            let labels = match found.is_empty() {
                true => Vec::new(),
                false => {
                    let keypoints = found.iter().map(|found| found.keypoint).collect();
                    self.0
                        .labels(seen.clone().narrow(0, index, 1), &[keypoints])?
                }
            };
            detections.push(self.detections(labelled(found, labels)));
        }
        Ok(detections)
    }
}

/// An auto-encoder gives no labels; then all are 0.
fn labelled(found: Vec<ScoredKeypoint>, labels: Vec<usize>) -> Vec<(ScoredKeypoint, usize)> {
    let labels = labels.into_iter().chain(std::iter::repeat(0));
    found.into_iter().zip(labels).collect()
}

impl Finder for CentreModel {
    fn channels(&self) -> usize {
        self.0.channels()
    }

    fn instances(&self) -> usize {
        self.0.instances()
    }

    fn classes(&self) -> Option<usize> {
        self.0.config().task.classes()
    }

    fn least_score(&self) -> Option<f32> {
        self.0.config().least_score
    }

    fn find(&self, images: Tensor<4>, k: &[usize]) -> Result<Vec<Vec<Detection>>, Error> {
        self.search(images, |index| {
            Selection::Strongest(k.get(index).copied().unwrap_or(0))
        })
    }

    fn find_at_least(
        &self,
        images: Tensor<4>,
        score: f32,
    ) -> Result<Option<Vec<Vec<Detection>>>, Error> {
        let found = self.search(images, |_| Selection::AtLeast(score))?;
        Ok(Some(found))
    }

    fn find_large(
        &self,
        image: ImageView<'_>,
        selection: Selection,
        search: LargeSearch,
    ) -> Result<Option<Vec<Detection>>, Error> {
        let found = self.peaks(&large_maps(&self.0, image, search)?, selection);
        let mut labels = Vec::new();
        if self.classes().is_some() {
            for found in found.chunks(LABELLED_AT_ONCE) {
                labels.extend(large_labels(&self.0, image, found)?);
            }
        }
        Ok(Some(self.detections(labelled(found, labels))))
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
