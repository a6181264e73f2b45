//! Class activation maps (Zhou et al., 2016): what locates objects when only images were classified.
//!
//! One linear layer scores every cell for every class; its mean over the image is trained with the labels of the image, and
//! maxima of a present class's map are its objects.

mod finder;
mod learner;

pub use finder::CamFinder;
pub use learner::CamLearner;

use mist_kernels::network::{Layer, Network, NetworkError, Padding};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::loss::check_window;
use crate::model::ModelConfig;
use crate::settings::{Bounds, within};

/// Settings of the method; thresholds are chosen on validation images.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CamConfig {
    /// Probability from which on a class is there; the most probable one always is.
    pub least_probability: f32,
    /// Maxima of a class's map count from this share of its largest on.
    pub least_share: f32,
    /// Channels of a 3x3 convolution before the linear layer, as the method adds to networks that were not made for it; 0
    /// for none.
    pub hidden_channels: usize,
    /// Side of the window, odd, over which maps are averaged before their maxima are looked for; 1 for none.
    pub smoothing_cells: usize,
}

impl Default for CamConfig {
    fn default() -> Self {
        Self {
            least_probability: 0.3,
            least_share: 0.7,
            hidden_channels: 0,
            smoothing_cells: 1,
        }
    }
}

impl CamConfig {
    /// Most channels of the convolution.
    pub const MAX_CHANNELS: usize = 4096;

    /// Refuses impossible settings.
    ///
    /// # Errors
    /// When a number is out of range, or the model has no backbone.
    pub fn check(&self, model: &ModelConfig) -> Result<(), Error> {
        within([
            ("least_probability", self.least_probability, 0.0..=1.0),
            ("least_share", self.least_share, 0.0..=1.0),
        ])?;
        Bounds::new("hidden_channels", 0, Self::MAX_CHANNELS).check(self.hidden_channels)?;
        check_window(self.smoothing_cells)?;
        match model.backbone {
            Some(_) => Ok(()),
            None => Err(Error::Setting {
                name: "model.backbone",
                requirement: "given: the maps are of its features".into(),
            }),
        }
    }
}

/// Features to one map per class, without the background.
fn network(config: &CamConfig, model: &ModelConfig) -> Result<Network, NetworkError> {
    let classes = model.task.classes().unwrap_or(0).saturating_sub(1);
    let mut layers = Vec::new();
    if config.hidden_channels > 0 {
        let out_channels = config.hidden_channels;
        let padding = Padding::Same;
        layers.extend([
            Layer::Conv3x3 {
                out_channels,
                padding,
            },
            Layer::Relu,
        ]);
    }
    layers.push(Layer::Conv1x1 {
        out_channels: classes,
    });
    Network::new(model.source_channels(), layers)
}
