//! Masks over the places of a network of regions, and the detector that it becomes.

use burn::tensor::activation::sigmoid;
use burn::tensor::{Tensor, TensorData};
use mist_kernels::network::Network;

use super::{Moment, Xie20Config};
use crate::Error;
use crate::baselines::located::{LocatedModel, Locator};
use crate::extract::{Extractor, ScoredKeypoint};
use crate::model::ModelConfig;
use crate::networks::regions;
use crate::sample::sample;

impl Xie20Config {
    fn stride_px(&self) -> f32 {
        (1u32 << self.regions.levels.min(16)) as f32
    }

    /// Response and offsets in places: `[batch, 3, rows, columns]`.
    fn limited(&self, maps: Tensor<4>) -> Tensor<4> {
        let offsets = maps.clone().narrow(1, 1, 2).tanh() * self.offset_cells;
        Tensor::cat(vec![maps.narrow(1, 0, 1), offsets], 1)
    }

    /// The loss of a batch of images without their background.
    pub(super) fn loss_of_regions(
        &self,
        model: &LocatedModel<Self>,
        images: Tensor<4>,
        mean_labels: Tensor<2>,
        moment: Moment,
    ) -> Result<Tensor<1>, Error> {
        let config = model.config();
        let maps = model.maps(images.clone())?.ok_or(Error::NotKnown {
            what: "the map of regions",
        })?;
        let maps = self.limited(maps);
        let [batch, _, rows, columns] = maps.dims();
        let flat = |channel| {
            let map = maps.clone().narrow(1, channel, 1);
            map.reshape([batch, rows * columns])
        };
        let device = images.device();
        let centre = |of: fn(usize, usize) -> usize| {
            let centres = (0..rows * columns).map(|place| of(place, columns) as f32 + 0.5);
            let data = TensorData::new(centres.collect::<Vec<f32>>(), [1, rows * columns]);
            Tensor::<2>::from_data(data, &device)
        };
        let shape = [batch, rows * columns, 1];
        let x = (flat(1) + centre(|place, columns| place % columns)) * self.stride_px();
        let y = (flat(2) + centre(|place, columns| place / columns)) * self.stride_px();
        let scale = Tensor::<3>::ones(shape, &device);
        let mut points = Tensor::cat(vec![x.reshape(shape), y.reshape(shape), scale], 2);
        if self.offset_cells == 0.0 {
            points = points.detach();
        }
        let patches = sample(images, points, config.geometry)?;
        let instances = config.extractor.instances;
        let losses = self.losses(
            &model.task,
            instances,
            flat(0),
            patches,
            mean_labels,
            moment,
        )?;
        Ok(losses.mean())
    }
}

impl Locator for Xie20Config {
    fn network(&self, _: &ModelConfig) -> Result<Option<Network>, Error> {
        Ok(Some(regions(&self.regions)?))
    }

    /// The K strongest places that suppression leaves, its window counted in places.
    fn locate(
        &self,
        model: &ModelConfig,
        _: &Tensor<4>,
        maps: Option<Tensor<4>>,
        k: usize,
    ) -> Result<Vec<Vec<ScoredKeypoint>>, Error> {
        let maps = maps.ok_or(Error::NotKnown {
            what: "the map of regions",
        })?;
        let extractor = Extractor {
            instances: k,
            ..model.extractor
        };
        extractor.extract_with_offsets(self.limited(maps), self.stride_px())
    }

    fn response(&self, maps: Tensor<4>) -> Tensor<4> {
        sigmoid(maps.narrow(1, 0, 1))
    }
}
