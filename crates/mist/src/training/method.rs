//! Methods of training, as settings.

use std::collections::BTreeMap;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use super::{Learner, OptimiserConfig};
use crate::Error;
use crate::backbone::{Backbone, FeatureExtractor};
use crate::finder::Finder;
use crate::model::{Model, ModelConfig};
use crate::ranks::Ranks;

/// A way to train, by its settings.
pub trait Method {
    /// Its name in result files.
    fn name(&self) -> &'static str;

    /// Names of the networks that it trains.
    fn networks(&self) -> &'static [&'static str];

    /// Refuses settings that a model cannot be trained with.
    ///
    /// # Errors
    /// When a setting is impossible.
    fn check(&self, model: &ModelConfig) -> Result<(), Error>;

    /// Starts a training.
    ///
    /// # Errors
    /// When the model or its starting weights are impossible.
    fn learner(&self, setup: Setup<'_>) -> Result<Box<dyn Learner>, Error>;

    /// Reads a trained model from its weights, and from those of its backbone where it has one.
    ///
    /// # Errors
    /// When the weights are damaged or belong to another model.
    fn load(
        &self,
        model: &ModelConfig,
        weights: &[u8],
        backbone: Option<&Backbone>,
        device: &Device,
    ) -> Result<Box<dyn Finder>, Error> {
        let model = Model::from_safetensors_with(model.clone(), weights, backbone, device)?;
        Ok(Box::new(model))
    }
}

/// What a training starts with.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// Settings of the model.
    pub model: &'a ModelConfig,
    /// Settings of the optimisers.
    pub optimisers: &'a Optimisers,
    /// Decides starting weights and everything that is drawn at random.
    pub seed: u64,
    /// Weights to start from, as safetensors, instead of random ones.
    pub weights: Option<&'a [u8]>,
    /// What photographs are seen through, for models that need it.
    pub features: Option<&'a FeatureExtractor>,
    /// A device with autodiff.
    pub device: &'a Device,
    /// Who trains; [`Ranks::default`] for one process.
    pub ranks: &'a Ranks,
}

impl Setup<'_> {
    /// The model with its starting weights.
    ///
    /// # Errors
    /// When the settings are impossible or the weights belong to another model.
    pub fn starting_model(&self) -> Result<Model, Error> {
        let config = self.model.clone();
        match self.weights {
            Some(weights) => {
                let backbone = self.features.map(|features| &features.backbone);
                Model::from_safetensors_with(config, weights, backbone, self.device)
            }
            None => Model::init_with(config, self.seed, self.features.cloned(), self.device),
        }
    }
}

/// Settings of one optimiser per network, by the network's name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Optimisers(BTreeMap<String, OptimiserConfig>);

impl Optimisers {
    /// The settings of a network's optimiser; the default where there are none.
    pub fn get(&self, network: &str) -> OptimiserConfig {
        self.0.get(network).copied().unwrap_or_default()
    }

    /// Refuses impossible settings, and settings of networks that a method does not have.
    ///
    /// # Errors
    /// When a name is not one of `networks`, or a setting is out of range.
    pub fn check(&self, networks: &[&str]) -> Result<(), Error> {
        for (name, optimiser) in &self.0 {
            if !networks.contains(&name.as_str()) {
                return Err(Error::UnknownNetwork {
                    name: name.clone(),
                    known: networks.join(", "),
                });
            }
            optimiser.check()?;
        }
        Ok(())
    }
}

impl<N: Into<String>> FromIterator<(N, OptimiserConfig)> for Optimisers {
    fn from_iter<I: IntoIterator<Item = (N, OptimiserConfig)>>(optimisers: I) -> Self {
        let named = optimisers.into_iter();
        Self(named.map(|(name, config)| (name.into(), config)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optimisers_of_other_networks_are_refused() {
        let optimisers: Optimisers = [("detector", OptimiserConfig::default())]
            .into_iter()
            .collect();
        assert!(optimisers.check(&["detector", "task"]).is_ok());
        assert_eq!(optimisers.get("task"), OptimiserConfig::default());
        let message = optimisers.check(&["encoder"]).unwrap_err().to_string();
        assert!(message.contains("`detector`") && message.contains("encoder"));
    }
}
