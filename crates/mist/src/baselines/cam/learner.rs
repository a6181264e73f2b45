//! Learning from the labels of whole images.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Tensor, TensorData};

use super::{CamConfig, CamFinder, network};
use crate::Error;
use crate::backbone::{Backbone, FeatureExtractor};
use crate::finder::Finder;
use crate::measurements::Measurements;
use crate::model::ModelConfig;
use crate::networks::{InputStatistics, NetworkModule};
use crate::ranks::Ranks;
use crate::training::{Batch, Learner, LearnerState, Method, Optimiser, Progress, Setup, Step};

const CLASSIFIER: &str = "classifier";

/// A linear classifier of features.
#[derive(Debug)]
pub struct CamLearner {
    config: CamConfig,
    model: ModelConfig,
    features: FeatureExtractor,
    network: NetworkModule,
    optimiser: Optimiser,
    ranks: Ranks,
}

impl Method for CamConfig {
    fn name(&self) -> &'static str {
        "cam"
    }

    fn networks(&self) -> &'static [&'static str] {
        &[CLASSIFIER]
    }

    fn check(&self, model: &ModelConfig) -> Result<(), Error> {
        Self::check(self, model)
    }

    fn learner(&self, setup: Setup<'_>) -> Result<Box<dyn Learner>, Error> {
        Self::check(self, setup.model)?;
        let Some(features) = setup.features.cloned() else {
            let backbone = setup.model.backbone.as_ref();
            let weights = backbone.map_or(String::new(), |backbone| backbone.weights.clone());
            return Err(Error::NoBackbone { weights });
        };
        let network = NetworkModule::init(network(setup.model)?, setup.seed, setup.device)?;
        let network = network.among(setup.ranks)?;
        Ok(Box::new(CamLearner {
            config: *self,
            model: setup.model.clone(),
            features,
            optimiser: Optimiser::new(setup.optimisers.get(CLASSIFIER), &network)?,
            network,
            ranks: setup.ranks.clone(),
        }))
    }

    fn load(
        &self,
        model: &ModelConfig,
        weights: &[u8],
        backbone: Option<&Backbone>,
        device: &Device,
    ) -> Result<Box<dyn Finder>, Error> {
        let finder = CamFinder::from_safetensors(*self, model, weights, backbone, device)?;
        Ok(Box::new(finder))
    }
}

impl Learner for CamLearner {
    fn step(&mut self, batch: &Batch, progress: Progress) -> Result<Step, Error> {
        let features = match &batch.features {
            Some(features) => self.features.statistics.standardise(features.clone())?,
            None => self.features.features(batch.images.clone())?,
        };
        let maps = self.network.forward(features, InputStatistics::Running)?;
        let [images, classes, ..] = maps.dims();
        let logits = maps.mean_dims(&[2, 3]).reshape([images, classes]);
        let labels = self.labels(batch, classes)?;
        let losses = (log_softmax(logits, 1) * labels).sum_dim(1).neg();
        let losses = losses.reshape([images]);
        let gradients = self.ranks.mean(losses.clone()).backward();
        let network = self.network.clone();
        self.network = self.optimiser.step(network, &gradients, progress, 1.0)?;
        let loss = self.ranks.mean_value(losses)?;
        Ok(Step {
            measurements: Measurements::new().with("task_loss", f64::from(loss)),
            panels: Vec::new(),
        })
    }

    fn state(&self) -> Result<LearnerState, Error> {
        let network = self.optimiser.network_state(CLASSIFIER, &self.network)?;
        Ok(LearnerState {
            networks: vec![network],
            memory: serde_json::Value::Null,
        })
    }

    fn restore(&mut self, mut state: LearnerState) -> Result<(), Error> {
        let network = self.network.clone();
        let state = state.take(CLASSIFIER)?;
        self.network = self.optimiser.restore(network, state)?;
        Ok(())
    }

    fn finder(&self, device: &Device) -> Result<Box<dyn Finder>, Error> {
        Ok(Box::new(CamFinder::new(
            self.config,
            &self.model,
            self.features.clone(),
            self.optimiser.averaged(&self.network, device)?,
        )))
    }
}

impl CamLearner {
    /// Share of each class among an image's objects, without the background: `[batch, classes]`.
    fn labels(&self, batch: &Batch, classes: usize) -> Result<Tensor<2>, Error> {
        let what = "class counts";
        let counts = batch.class_counts.as_ref();
        let counts = counts.ok_or(Error::NotKnown { what })?;
        let mut shares = Vec::with_capacity(counts.len() * classes);
        for image in counts {
            let objects = &image[..classes.min(image.len())];
            let total = objects.iter().sum::<usize>().max(1) as f32;
            shares.extend(objects.iter().map(|&count| count as f32 / total));
        }
        let data = TensorData::new(shares, [counts.len(), classes]);
        Ok(Tensor::from_data(data, &batch.images.device()))
    }
}
