//! What a training on photographs needs beside its recipe.

use std::path::Path;

use mist::backbone::{FeatureExtractor, FeatureStatistics};
use mist_data::Dataset;

use crate::backbones;
use crate::error::Result;
use crate::features::FeatureCache;
use crate::observer::Observer;
use crate::recipe::Recipe;

/// A backbone and the features of both parts of a data set.
pub(super) struct TrainingFeatures {
    pub extractor: FeatureExtractor,
    pub train: FeatureCache,
    pub held_out: FeatureCache,
}

impl TrainingFeatures {
    /// Those of a recipe with a backbone; nothing for others.
    pub fn open(
        recipe: &Recipe,
        data: Option<&Path>,
        [train, held_out]: [&dyn Dataset; 2],
        observer: &mut dyn Observer,
    ) -> Result<Option<Self>> {
        let Some(config) = &recipe.model.backbone else {
            return Ok(None);
        };
        let (backbone, sha256) = backbones::load(config, data)?;
        let of_file = (&backbone, sha256.as_str());
        let train = FeatureCache::open(train, of_file, config, observer)?;
        let held_out = FeatureCache::open(held_out, of_file, config, observer)?;
        let extractor = FeatureExtractor {
            statistics: train.statistics(),
            backbone,
        };
        Ok(Some(Self {
            extractor,
            train,
            held_out,
        }))
    }
}

/// The backbone of a recipe, its features not yet standardised: enough to see whether it can be trained.
pub(super) fn extractor(recipe: &Recipe, data: Option<&Path>) -> Result<Option<FeatureExtractor>> {
    let Some(config) = &recipe.model.backbone else {
        return Ok(None);
    };
    let (backbone, _) = backbones::load(config, data)?;
    Ok(Some(FeatureExtractor {
        backbone,
        statistics: FeatureStatistics::identity(config.architecture.channels()),
    }))
}
