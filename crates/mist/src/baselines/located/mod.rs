//! Models that find their places by a means of their own in the place of H and E_K; what becomes of the places is as in MIST.

mod end_to_end;
mod trained;

pub(super) use end_to_end::{EndToEnd, EndToEndLearner};
pub(super) use trained::TrainedLocated;

use std::fmt::Debug;

use burn::tensor::{Device, Tensor};
use mist_kernels::network::Network;
use safetensors::SafeTensors;

use crate::Error;
use crate::extract::ScoredKeypoint;
use crate::finder::{Finder, Patches};
use crate::geometry::Detection;
use crate::heatmap::resize;
use crate::model::{DETECTOR, ModelConfig, PatchTask, TASK};
use crate::networks::{InputStatistics, NetworkModule, refuse_unknown};

/// What locates objects, by its settings.
pub trait Locator: Copy + Debug + 'static {
    /// Its network; none where places are fixed.
    ///
    /// # Errors
    /// When a setting is out of range.
    fn network(&self, model: &ModelConfig) -> Result<Option<Network>, Error>;

    /// At most `k` places of each image, as many of each, strongest first.
    ///
    /// # Shapes
    /// - `images`: `[batch, channels, height, width]`
    /// - `maps`: the network's output for them
    ///
    /// # Errors
    /// When the maps are not finite or too small.
    fn locate(
        &self,
        model: &ModelConfig,
        images: &Tensor<4>,
        maps: Option<Tensor<4>>,
        k: usize,
    ) -> Result<Vec<Vec<ScoredKeypoint>>, Error>;

    /// The network's output as one map that is not negative, `[batch, 1, height, width]`.
    fn response(&self, maps: Tensor<4>) -> Tensor<4>;
}

/// A locator and a task network.
#[derive(Clone, Debug)]
pub struct LocatedModel<L> {
    /// Where objects are looked for.
    pub locator: L,
    /// The locator's network, where it has one.
    pub detector: Option<NetworkModule>,
    /// T.
    pub task: NetworkModule,
    config: ModelConfig,
}

impl<L: Locator> LocatedModel<L> {
    /// A model with starting weights drawn from `seed`.
    ///
    /// # Errors
    /// When the settings are impossible.
    pub fn init(
        locator: L,
        config: &ModelConfig,
        seed: u64,
        device: &Device,
    ) -> Result<Self, Error> {
        config.check()?;
        let network = locator.network(config)?;
        let detector = network.map(|network| NetworkModule::init(network, seed, device));
        Ok(Self {
            locator,
            detector: detector.transpose()?,
            task: NetworkModule::init(config.task.network()?, !seed, device)?,
            config: config.clone(),
        })
    }

    /// Reads what [`Finder::to_safetensors`] wrote.
    ///
    /// # Errors
    /// When the bytes are damaged or belong to another model.
    pub fn from_safetensors(
        locator: L,
        config: &ModelConfig,
        bytes: &[u8],
        device: &Device,
    ) -> Result<Self, Error> {
        config.check()?;
        let file = SafeTensors::deserialize(bytes)?;
        let read = |network, prefix| NetworkModule::from_named(network, &file, prefix, device);
        let (task, mut known) = read(config.task.network()?, TASK)?;
        let detector = match locator.network(config)? {
            Some(network) => {
                let (detector, of_detector) = read(network, DETECTOR)?;
                known.extend(of_detector);
                Some(detector)
            }
            None => None,
        };
        refuse_unknown(&file, &known)?;
        Ok(Self {
            locator,
            detector,
            task,
            config: config.clone(),
        })
    }

    /// The settings of everything but the locator.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// What the locator's network makes of images without their background; nothing where it has none.
    ///
    /// # Errors
    /// When an image is too small for it.
    pub fn maps(&self, foreground: Tensor<4>) -> Result<Option<Tensor<4>>, Error> {
        let detector = self.detector.as_ref();
        let maps = detector.map(|network| network.forward(foreground, InputStatistics::Running));
        maps.transpose()
    }

    fn patch_task(&self) -> PatchTask<'_> {
        PatchTask {
            config: &self.config,
            network: &self.task,
        }
    }
}

impl<L: Locator> Finder for LocatedModel<L> {
    fn channels(&self) -> usize {
        self.config.image_channels()
    }

    fn instances(&self) -> usize {
        self.config.extractor.instances
    }

    fn classes(&self) -> Option<usize> {
        self.config.task.classes()
    }

    fn find(&self, images: Tensor<4>, k: &[usize]) -> Result<Vec<Vec<Detection>>, Error> {
        self.patch_task().find(images, k, |images, most| {
            let maps = self.maps(self.config.foreground(images.clone()))?;
            self.locator.locate(&self.config, &images, maps, most)
        })
    }

    fn heatmap(&self, images: Tensor<4>) -> Result<Option<Tensor<4>>, Error> {
        let [_, _, height, width] = images.dims();
        let maps = self.maps(self.config.foreground(images))?;
        let response = maps.map(|maps| resize(self.locator.response(maps), height, width));
        response.transpose()
    }

    fn redraw(
        &self,
        images: Tensor<4>,
        found: &[Vec<Detection>],
    ) -> Result<Option<Tensor<4>>, Error> {
        self.patch_task().redraw(images, found)
    }

    fn patches(
        &self,
        images: Tensor<4>,
        found: &[Vec<Detection>],
    ) -> Result<Option<Patches>, Error> {
        self.patch_task().patches(images, found)
    }

    fn to_safetensors(&self) -> Result<Vec<u8>, Error> {
        let mut tensors = self.task.named_tensors(TASK)?;
        if let Some(detector) = &self.detector {
            tensors.extend(detector.named_tensors(DETECTOR)?);
        }
        Ok(safetensors::serialize(tensors, None)?)
    }
}
