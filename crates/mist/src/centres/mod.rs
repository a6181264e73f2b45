//! Lifted training in two parts, for objects of many sizes (not of the paper).
//!
//! Algorithm 1 finds keypoints, then fits H to the heatmap G of them. Here keypoints are found by [`Discs`] alone, which
//! need no network, and H has many of them in each step: it sees objects enlarged, shrunk, mirrored, and pasted beside each
//! other, so that it learns to tell apart what the discs could not. T redraws each object. No location that a person gave
//! is used.
//!
//! Where it is counted how many objects of each class an image holds, T is a classifier. Which discs are meant is found out
//! by what classes look like.

mod appearance;
mod assign;
mod augment;
mod counted;
mod detector;
mod learner;
mod loss;
mod maps;
mod model;
mod peaks;
mod targets;
mod views;

pub use augment::Augmentation;
pub use learner::CentresLearner;
pub use model::CentreModel;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::model::{ModelConfig, TaskNetwork};
use crate::proposals::Discs;
use crate::settings::{Bounds, WEIGHT, within};

/// Settings of this way of training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CentresConfig {
    /// Where keypoints come from.
    pub discs: Discs,
    /// What H sees of them.
    pub augmentation: Augmentation,
    /// Standard deviation of G, in sides of an object; at least one pixel.
    pub spread_frac: f32,
    /// How much less pixels matter whose heat is right already; 0 is plain cross-entropy.
    pub focus: f32,
    /// Weight of the size's loss.
    pub size_weight: f32,
    /// Patches of an image that T learns to redraw in a step.
    pub patches: usize,
    /// How counts are learnt from.
    pub counted: CountedConfig,
}

/// How counts are learnt from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CountedConfig {
    /// Images whose discs tell what classes look like.
    pub census_images: usize,
}

impl Default for CountedConfig {
    fn default() -> Self {
        Self { census_images: 120 }
    }
}

impl Default for CentresConfig {
    fn default() -> Self {
        Self {
            discs: Discs::default(),
            augmentation: Augmentation::default(),
            spread_frac: 0.1,
            focus: 2.0,
            size_weight: 0.2,
            patches: 8,
            counted: CountedConfig::default(),
        }
    }
}

impl CentresConfig {
    /// Refuses impossible settings.
    ///
    /// # Errors
    /// When a number is out of range, or the model is not one that this trains.
    pub fn check(&self, model: &ModelConfig) -> Result<(), Error> {
        self.discs.check()?;
        self.augmentation.check()?;
        within([
            ("spread_frac", self.spread_frac, 0.0..=1.0),
            ("focus", self.focus, 0.0..=10.0),
            ("size_weight", self.size_weight, WEIGHT),
        ])?;
        Bounds::new("patches", 1, 1024).check(self.patches)?;
        Bounds::new("counted.census_images", 1, 100_000).check(self.counted.census_images)?;
        let is_counted = matches!(model.task, TaskNetwork::Classifier { .. });
        let requirement = match (&model.task, model.scales.values(), model.detector.levels) {
            (TaskNetwork::FeatureClassifier(_), _, _) => {
                ("model.task", "an auto-encoder, or a classifier of counts")
            }
            (_, [_], 1..) if is_counted && self.augmentation.pastes > 0 => (
                "augmentation.pastes",
                "0 where classes are counted: what is pasted would have no label",
            ),
            (_, [_], 1..) if is_counted || model.image_channels() == 1 => return Ok(()),
            (_, [_], 1..) => ("model.detector.in_channels", "1: images are seen in gray"),
            (_, [_], 0) => ("model.detector.levels", "at least 1"),
            _ => ("model.scales", "a single one: the detector tells sizes"),
        };
        Err(Error::Setting {
            name: requirement.0,
            requirement: requirement.1.into(),
        })
    }
}
