//! Hand-made proposals evaluated like a detector: what is there before any learning.

use burn::tensor::Tensor;
use mist::Error;
use mist::extract::{Extractor, ScoredKeypoint};
use mist::finder::{Finder, Patches};
use mist::geometry::Detection;
use mist::model::{Model, ModelConfig};
use mist::proposals::Proposals;

/// A model whose keypoints come from proposals instead of its heatmap.
#[derive(Clone, Debug)]
pub struct ProposalFinder {
    /// The model; its task network reads or redraws what the proposals hold.
    pub model: Model,
    /// How proposals are computed.
    pub proposals: Proposals,
}

impl ProposalFinder {
    /// Proposals in the order in which they were computed, the first with the highest score.
    fn scored(&self, images: Tensor<4>, k: usize) -> Result<Vec<Vec<ScoredKeypoint>>, Error> {
        let config = self.model.config();
        let config = ModelConfig {
            extractor: Extractor {
                instances: k,
                ..config.extractor
            },
            ..config.clone()
        };
        let scored = |(place, keypoint)| ScoredKeypoint {
            keypoint,
            score: (k - place) as f32 / k as f32,
        };
        let images = self.proposals.keypoints(images, &config)?.into_iter();
        Ok(images
            .map(|image| image.into_iter().enumerate().map(scored).collect())
            .collect())
    }
}

impl Finder for ProposalFinder {
    fn channels(&self) -> usize {
        self.model.channels()
    }

    fn instances(&self) -> usize {
        self.model.instances()
    }

    fn classes(&self) -> Option<usize> {
        self.model.classes()
    }

    fn find(&self, images: Tensor<4>, k: &[usize]) -> Result<Vec<Vec<Detection>>, Error> {
        self.model
            .find_at(images, k, |images, most| self.scored(images, most))
    }

    fn redraw(
        &self,
        images: Tensor<4>,
        found: &[Vec<Detection>],
    ) -> Result<Option<Tensor<4>>, Error> {
        self.model.redraw(images, found)
    }

    fn patches(
        &self,
        images: Tensor<4>,
        found: &[Vec<Detection>],
    ) -> Result<Option<Patches>, Error> {
        self.model.patches(images, found)
    }

    fn to_safetensors(&self) -> Result<Vec<u8>, Error> {
        self.model.to_safetensors()
    }
}
