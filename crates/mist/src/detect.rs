//! Detection with trained networks: image to labelled boxes.

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use crate::Error;
use crate::extract::{Extractor, ScoredKeypoint};
use crate::heatmap::HeatmapNetwork;
use crate::keypoints;
use crate::metrics::Detection;
use crate::networks::{InputStatistics, NetworkModule};
use crate::sample::{PatchGeometry, sample};

/// H, E_K, S and a classifier T, in this order (section 3).
#[derive(Debug)]
pub struct Detector {
    /// H.
    pub heatmap: HeatmapNetwork,
    /// T, giving logits.
    pub classifier: NetworkModule,
    /// E_K.
    pub extractor: Extractor,
    /// S.
    pub geometry: PatchGeometry,
}

impl Detector {
    /// K boxes per image, strongest response first, each with its most probable label; the score is the heatmap's.
    ///
    /// # Shapes
    /// - `images`: `[batch, channels, height, width]`
    ///
    /// # Errors
    /// When an image is too small or the heatmap is not finite.
    pub fn detect(&self, images: Tensor<4>) -> Result<Vec<Vec<Detection>>, Error> {
        let heatmaps = self
            .heatmap
            .forward(images.clone(), InputStatistics::Running)?;
        let found = self.extractor.extract(heatmaps, self.heatmap.levels())?;
        let points: Vec<Vec<_>> = found
            .iter()
            .map(|image| image.iter().map(|found| found.keypoint).collect())
            .collect();
        let points = keypoints::to_tensor(&points, &images.device())?;
        let patches = sample(images, points, self.geometry)?;
        let [batch, instances, channels, height, width] = patches.dims();
        let patches = patches.reshape([batch * instances, channels, height, width]);
        let logits = self.classifier.forward(patches, InputStatistics::Running)?;
        let probabilities = softmax(logits, 1).try_into_vec_as::<f32>()?;
        let classes = self.classifier.network().out_channels();
        let mut labels = probabilities.chunks_exact(classes).map(most_probable);
        let mut labelled = |found: &ScoredKeypoint| Detection {
            bounds: found.keypoint.to_box(self.geometry.base_box_px),
            label: labels.next().unwrap_or_default(),
            score: found.score,
        };
        Ok(found
            .iter()
            .map(|image| image.iter().map(&mut labelled).collect())
            .collect())
    }
}

fn most_probable(probabilities: &[f32]) -> usize {
    let best = (0..probabilities.len()).max_by(|&a, &b| {
        probabilities[a]
            .total_cmp(&probabilities[b])
            .then(b.cmp(&a))
    });
    best.unwrap_or_default()
}
