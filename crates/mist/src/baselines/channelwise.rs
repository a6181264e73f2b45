//! The channel-wise baseline (paper, section 5): the heatmap network has K outputs, one for each keypoint.
//!
//! A keypoint is the mean place under the softmax of its channel over the image (Zhang et al., 2018), so that the task loss has
//! a gradient with respect to every weight and all is trained end to end. Which channel takes which object is for the network
//! to tell, and it sees objects alone: two of one kind look the same to it.

use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor, TensorData};
use mist_kernels::network::Network;
use serde::{Deserialize, Serialize};

use super::located::{EndToEnd, EndToEndLearner, LocatedModel, Locator};
use crate::Error;
use crate::backbone::Backbone;
use crate::extract::ScoredKeypoint;
use crate::finder::Finder;
use crate::keypoints;
use crate::loss::MeanDistance;
use crate::model::{ModelConfig, TaskNetwork};
use crate::settings::within;
use crate::training::{Learner, Method, Setup, TrainedModel};

/// Settings of the method.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChannelwiseConfig {
    /// Factor on the responses before their softmax over the image.
    pub strength: f32,
    /// How a classifier's mean prediction is compared with the mean label.
    pub mean_distance: MeanDistance,
}

impl Default for ChannelwiseConfig {
    fn default() -> Self {
        Self {
            strength: 10.0,
            mean_distance: MeanDistance::Squared,
        }
    }
}

impl ChannelwiseConfig {
    /// Each channel's distribution over the image, `[batch, K, height * width]`.
    fn distributions(&self, maps: Tensor<4>) -> Tensor<3> {
        let [batch, channels, height, width] = maps.dims();
        let flat = maps.reshape([batch, channels, height * width]);
        softmax(flat * self.strength, 2)
    }

    fn maps(maps: Option<Tensor<4>>) -> Result<Tensor<4>, Error> {
        maps.ok_or(Error::NotKnown {
            what: "the heatmaps of the channels",
        })
    }
}

/// Mean place of each distribution over an image, `[batch, K, 3]` with scale 1: the spatial soft-argmax.
fn mean_places(distributions: Tensor<3>, width: usize) -> Tensor<3> {
    let [batch, channels, places] = distributions.dims();
    let device = distributions.device();
    let centres = (0..places).flat_map(|place| {
        let (x, y) = (place % width, place / width);
        [x as f32 + 0.5, y as f32 + 0.5]
    });
    let centres = TensorData::new(centres.collect::<Vec<f32>>(), [1, places, 2]);
    let places = distributions.matmul(Tensor::<3>::from_data(centres, &device));
    let scales = Tensor::<3>::ones([batch, channels, 1], &device);
    Tensor::cat(vec![places, scales], 2)
}

impl Locator for ChannelwiseConfig {
    fn network(&self, model: &ModelConfig) -> Result<Option<Network>, Error> {
        let outputs = model.extractor.instances;
        Ok(Some(model.detector.network_of(outputs)?))
    }

    fn locate(
        &self,
        _: &ModelConfig,
        _: &Tensor<4>,
        maps: Option<Tensor<4>>,
        k: usize,
    ) -> Result<Vec<Vec<ScoredKeypoint>>, Error> {
        let maps = Self::maps(maps)?;
        let [_, channels, _, width] = maps.dims();
        let distributions = self.distributions(maps);
        let scores = distributions.clone().max_dim(2).try_into_vec_as::<f32>()?;
        let found = keypoints::from_tensor(mean_places(distributions, width))?;
        if let Some(place) = scores.iter().position(|score| !score.is_finite()) {
            let image = place / channels;
            return Err(Error::NonFiniteHeatmap { image });
        }
        let images = found.into_iter().zip(scores.chunks_exact(channels));
        let scored = images.map(|(keypoints, scores)| {
            let scored = keypoints.into_iter().zip(scores);
            let mut scored: Vec<ScoredKeypoint> = scored
                .map(|(keypoint, &score)| ScoredKeypoint { keypoint, score })
                .collect();
            scored.sort_by(|a, b| b.score.total_cmp(&a.score));
            scored.truncate(k);
            scored
        });
        Ok(scored.collect())
    }

    fn response(&self, maps: Tensor<4>) -> Tensor<4> {
        let [batch, channels, height, width] = maps.dims();
        let distributions = self.distributions(maps);
        distributions
            .reshape([batch, channels, height, width])
            .sum_dim(1)
    }
}

impl EndToEnd for ChannelwiseConfig {
    fn keypoints(
        &self,
        _: &ModelConfig,
        _: &Tensor<4>,
        maps: Option<Tensor<4>>,
    ) -> Result<Tensor<3>, Error> {
        let maps = Self::maps(maps)?;
        let [_, _, _, width] = maps.dims();
        Ok(mean_places(self.distributions(maps), width))
    }

    fn mean_distance(&self) -> MeanDistance {
        self.mean_distance
    }
}

impl Method for ChannelwiseConfig {
    fn name(&self) -> &'static str {
        "channelwise"
    }

    fn networks(&self) -> &'static [&'static str] {
        TrainedModel::NETWORKS
    }

    fn check(&self, model: &ModelConfig) -> Result<(), Error> {
        within([("strength", self.strength, 1e-3..=1e3)])?;
        let of_patches = !matches!(model.task, TaskNetwork::FeatureClassifier(_));
        if of_patches && model.detector.levels == 0 {
            return Ok(());
        }
        Err(Error::Setting {
            name: "model",
            requirement: "a task network of image patches, and a detector without levels".into(),
        })
    }

    fn learner(&self, setup: Setup<'_>) -> Result<Box<dyn Learner>, Error> {
        Method::check(self, setup.model)?;
        setup.optimisers.check(self.networks())?;
        Ok(Box::new(EndToEndLearner::new(*self, setup)?))
    }

    fn finder_has_settings(&self) -> bool {
        true
    }

    fn load(
        &self,
        model: &ModelConfig,
        weights: &[u8],
        _: Option<&Backbone>,
        device: &Device,
    ) -> Result<Box<dyn Finder>, Error> {
        let model = LocatedModel::from_safetensors(*self, model, weights, device)?;
        Ok(Box::new(model))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sharp_maximum_is_the_mean_place_and_equal_ones_meet_in_the_middle() {
        let device = Device::flex();
        let mut values = vec![0.0f32; 2 * 3 * 4];
        values[4 + 3] = 9.0;
        values[12] = 9.0;
        values[12 + 11] = 9.0;
        let maps = Tensor::<4>::from_data(TensorData::new(values, [1, 2, 3, 4]), &device);
        let config = ChannelwiseConfig::default();
        let places = mean_places(config.distributions(maps), 4);
        let places = places.try_into_vec_as::<f32>().unwrap();
        let expected = [3.5, 1.5, 1.0, 2.0, 1.5, 1.0];
        for (found, expected) in places.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-5, "{places:?}");
        }
    }
}
