//! Class activation maps (Zhou et al., 2016): what locates objects when only images were classified.
//!
//! One linear layer scores every cell for every class; its mean over the image is trained with the labels of the image, and
//! maxima of a present class's map are its objects.

mod finder;
mod learner;

pub use finder::CamFinder;
pub use learner::CamLearner;

use mist_kernels::network::{Layer, Network, NetworkError};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::model::ModelConfig;
use crate::settings::within;

/// Settings of the method; thresholds are chosen on validation images.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CamConfig {
    /// Probability from which on a class is there; the most probable one always is.
    pub least_probability: f32,
    /// Maxima of a class's map count from this share of its largest on.
    pub least_share: f32,
}

impl Default for CamConfig {
    fn default() -> Self {
        Self {
            least_probability: 0.3,
            least_share: 0.7,
        }
    }
}

impl CamConfig {
    /// Refuses impossible settings.
    ///
    /// # Errors
    /// When a number is out of range, or the model has no backbone.
    pub fn check(&self, model: &ModelConfig) -> Result<(), Error> {
        within([
            ("least_probability", self.least_probability, 0.0..=1.0),
            ("least_share", self.least_share, 0.0..=1.0),
        ])?;
        match model.backbone {
            Some(_) => Ok(()),
            None => Err(Error::Setting {
                name: "model.backbone",
                requirement: "given: the maps are of its features".into(),
            }),
        }
    }
}

/// The linear layer: features to one map per class, without the background.
fn network(model: &ModelConfig) -> Result<Network, NetworkError> {
    let classes = model.task.classes().unwrap_or(0).saturating_sub(1);
    let layers = vec![Layer::Conv1x1 {
        out_channels: classes,
    }];
    Network::new(model.source_channels(), layers)
}
