//! The grid baseline (paper, section 5.1): the image is cut into cells, and each is redrawn by the auto-encoder.
//!
//! It learns no notion of an object: a lower bound on what an auto-encoder does without finding anything.

use burn::tensor::{Device, Tensor};
use mist_kernels::network::Network;
use serde::{Deserialize, Serialize};

use super::located::{EndToEnd, EndToEndLearner, LocatedModel, Locator};
use crate::Error;
use crate::backbone::Backbone;
use crate::extract::ScoredKeypoint;
use crate::finder::Finder;
use crate::geometry::Keypoint;
use crate::keypoints;
use crate::loss::MeanDistance;
use crate::model::{ModelConfig, TASK, TaskNetwork};
use crate::settings::Bounds;
use crate::training::{Learner, Method, Setup};

/// Settings of the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GridConfig {
    /// Cells along each side; the paper has 3.
    pub cells: usize,
}

impl Default for GridConfig {
    fn default() -> Self {
        Self { cells: 3 }
    }
}

impl GridConfig {
    /// The cells of an image of so many pixels along each side, row by row, as keypoints whose boxes they are.
    fn places(&self, model: &ModelConfig, side_px: usize) -> Vec<Keypoint> {
        let cell_px = side_px as f32 / self.cells as f32;
        let centre = |index: usize| (index as f32 + 0.5) * cell_px;
        let cell = |index: usize| Keypoint {
            x_px: centre(index % self.cells),
            y_px: centre(index / self.cells),
            scale: cell_px / model.geometry.base_box_px,
        };
        (0..self.cells * self.cells).map(cell).collect()
    }
}

impl Locator for GridConfig {
    fn network(&self, _: &ModelConfig) -> Result<Option<Network>, Error> {
        Ok(None)
    }

    fn locate(
        &self,
        model: &ModelConfig,
        images: &Tensor<4>,
        _: Option<Tensor<4>>,
        k: usize,
    ) -> Result<Vec<Vec<ScoredKeypoint>>, Error> {
        let [batch, _, height, width] = images.dims();
        if height != width {
            return Err(Error::Mismatch {
                what: "sides of an image that is cut into square cells",
                expected: vec![height, height],
                actual: vec![height, width],
            });
        }
        let cells = self.places(model, width).into_iter().take(k);
        let scored = cells.map(|keypoint| ScoredKeypoint {
            keypoint,
            score: 1.0,
        });
        Ok(vec![scored.collect(); batch])
    }

    fn response(&self, maps: Tensor<4>) -> Tensor<4> {
        maps
    }
}

impl EndToEnd for GridConfig {
    fn keypoints(
        &self,
        model: &ModelConfig,
        images: &Tensor<4>,
        _: Option<Tensor<4>>,
    ) -> Result<Tensor<3>, Error> {
        let found = self.locate(model, images, None, self.cells * self.cells)?;
        keypoints::to_tensor(&crate::extract::without_scores(found), &images.device())
    }

    fn mean_distance(&self) -> MeanDistance {
        MeanDistance::Squared
    }
}

impl Method for GridConfig {
    fn name(&self) -> &'static str {
        "grid"
    }

    fn networks(&self) -> &'static [&'static str] {
        &[TASK]
    }

    fn check(&self, model: &ModelConfig) -> Result<(), Error> {
        Bounds::new("cells", 1, 64).check(self.cells)?;
        let whole = model.geometry.context_px == 0.0;
        let redraws = matches!(model.task, TaskNetwork::Autoencoder { .. });
        if whole && redraws && model.extractor.instances == self.cells * self.cells {
            return Ok(());
        }
        Err(Error::Setting {
            name: "model",
            requirement:
                "an auto-encoder with geometry.context_px = 0 and extractor.instances = cells * cells"
                    .into(),
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
