//! Maxima of the maps of present classes.

use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor};
use safetensors::SafeTensors;

use super::{CamConfig, network};
use crate::Error;
use crate::backbone::{Backbone, FeatureExtractor, FeatureStatistics};
use crate::extract::{Selection, Suppression};
use crate::finder::Finder;
use crate::geometry::{Detection, Keypoint};
use crate::heatmap::resize;
use crate::model::ModelConfig;
use crate::networks::{InputStatistics, NetworkModule, refuse_unknown};

const CLASSIFIER: &str = "classifier";

/// A trained classifier of images that points at what it saw.
#[derive(Clone, Debug)]
pub struct CamFinder {
    config: CamConfig,
    model: ModelConfig,
    features: FeatureExtractor,
    network: NetworkModule,
}

impl CamFinder {
    pub(super) fn new(
        config: CamConfig,
        model: &ModelConfig,
        features: FeatureExtractor,
        network: NetworkModule,
    ) -> Self {
        Self {
            config,
            model: model.clone(),
            features,
            network,
        }
    }

    pub(super) fn from_safetensors(
        config: CamConfig,
        model: &ModelConfig,
        bytes: &[u8],
        backbone: Option<&Backbone>,
        device: &Device,
    ) -> Result<Self, Error> {
        let file = SafeTensors::deserialize(bytes)?;
        let (network, mut known) =
            NetworkModule::from_named(network(&config, model)?, &file, CLASSIFIER, device)?;
        let (statistics, names) = FeatureStatistics::from_named(&file, model.source_channels())?;
        known.extend(names);
        refuse_unknown(&file, &known)?;
        let Some(backbone) = backbone.cloned() else {
            let weights = model
                .backbone
                .as_ref()
                .map(|backbone| backbone.weights.clone());
            let weights = weights.unwrap_or_default();
            return Err(Error::NoBackbone { weights });
        };
        let features = FeatureExtractor {
            backbone,
            statistics,
        };
        Ok(Self::new(config, model, features, network))
    }

    /// One map per class of standardised features.
    fn maps(&self, features: Tensor<4>) -> Result<Tensor<4>, Error> {
        self.network.forward(features, InputStatistics::Running)
    }

    /// Objects in maps, in pixels of an image of `[height, width]`.
    fn find_in(
        &self,
        maps: Tensor<4>,
        k: &[usize],
        size_px: [usize; 2],
    ) -> Result<Vec<Vec<Detection>>, Error> {
        let [images, classes, height, width] = maps.dims();
        let logits = maps.clone().mean_dims(&[2, 3]).reshape([images, classes]);
        let probabilities = softmax(logits, 1).try_into_vec_as::<f32>()?;
        let maps = maps.try_into_vec_as::<f32>()?;
        let area = height * width;
        let image = |index: usize| {
            let maps = &maps[index * classes * area..][..classes * area];
            let probabilities = &probabilities[index * classes..][..classes];
            let mut found = self.maxima(maps, probabilities, [height, width], size_px);
            found.truncate(k.get(index).copied().unwrap_or(0));
            found
        };
        Ok((0..images).map(image).collect())
    }

    fn maxima(
        &self,
        maps: &[f32],
        probabilities: &[f32],
        [height, width]: [usize; 2],
        [height_px, width_px]: [usize; 2],
    ) -> Vec<Detection> {
        let most = probabilities.iter().copied().fold(0.0, f32::max);
        let present = |probability: f32| probability >= self.config.least_probability.min(most);
        let window = self.model.extractor.nms_window_px;
        let (x_step, y_step) = (
            width_px as f32 / width as f32,
            height_px as f32 / height as f32,
        );
        let mut found = Vec::new();
        let classes = maps
            .chunks_exact(height * width)
            .zip(probabilities)
            .enumerate();
        for (label, (map, &probability)) in classes.filter(|(_, (_, p))| present(**p)) {
            let map = &smoothed(map, width, self.config.smoothing_cells);
            let largest = map.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let least = largest - (1.0 - self.config.least_share) * largest.abs();
            let maxima =
                Suppression::LocalMaxima.places(map, width, window, Selection::AtLeast(least));
            for place in maxima {
                let keypoint = Keypoint {
                    x_px: ((place % width) as f32 + 0.5) * x_step,
                    y_px: ((place / width) as f32 + 0.5) * y_step,
                    scale: 1.0,
                };
                let share = map[place] / largest.max(f32::MIN_POSITIVE);
                found.push(Detection {
                    bounds: keypoint.to_box(self.model.geometry.base_box_px),
                    label,
                    score: probability * share.clamp(0.0, 1.0),
                });
            }
        }
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        found
    }
}

/// Means over windows of `side` cells, as far as they are within the map.
fn smoothed(map: &[f32], width: usize, side: usize) -> Vec<f32> {
    let (height, reach) = (map.len() / width.max(1), side / 2);
    let around = |at: usize, end: usize| at.saturating_sub(reach)..(at + reach + 1).min(end);
    let mean = |place: usize| {
        let (rows, columns) = (around(place / width, height), around(place % width, width));
        let count = rows.len() * columns.len();
        let sum: f32 = rows
            .map(|row| map[row * width..][columns.clone()].iter().sum::<f32>())
            .sum();
        sum / count as f32
    };
    (0..map.len()).map(mean).collect()
}

impl Finder for CamFinder {
    fn channels(&self) -> usize {
        3
    }

    fn instances(&self) -> usize {
        self.model.extractor.instances
    }

    fn classes(&self) -> Option<usize> {
        self.model.task.classes()
    }

    fn is_at_most(&self) -> bool {
        true
    }

    fn find(&self, images: Tensor<4>, k: &[usize]) -> Result<Vec<Vec<Detection>>, Error> {
        let [_, _, height, width] = images.dims();
        let resized = match &self.model.backbone {
            Some(config) => {
                let [rows, columns] = config.resized_px(height, width);
                resize(images, rows, columns)?
            }
            None => images,
        };
        let mut maps = self.maps(self.features.features(resized.clone())?)?;
        if self.model.backbone.as_ref().is_some_and(|b| b.mirror) {
            let mirrored = self.features.features(resized.flip([3]))?;
            maps = (maps + self.maps(mirrored)?.flip([3])) * 0.5;
        }
        self.find_in(maps, k, [height, width])
    }

    fn find_in_features(
        &self,
        features: Tensor<4>,
        k: &[usize],
    ) -> Result<Option<Vec<Vec<Detection>>>, Error> {
        let [_, _, height, width] = features.dims();
        let features = self.features.statistics.standardise(features)?;
        let stride_px = self.model.backbone.as_ref().map_or(1.0, |b| b.stride_px());
        let size_px = [height, width].map(|cells| (cells as f32 * stride_px) as usize);
        self.find_in(self.maps(features)?, k, size_px).map(Some)
    }

    fn to_safetensors(&self) -> Result<Vec<u8>, Error> {
        let mut tensors = self.network.named_tensors(CLASSIFIER)?;
        tensors.extend(self.features.statistics.named_tensors());
        Ok(safetensors::serialize(tensors, None)?)
    }
}

#[cfg(test)]
mod tests {
    use super::smoothed;

    #[test]
    fn windows_end_at_the_border() {
        let map = [9.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(smoothed(&map, 3, 1), map);
        assert_eq!(smoothed(&map, 3, 3), [2.25, 1.5, 0.0, 2.25, 1.5, 0.0]);
    }
}
