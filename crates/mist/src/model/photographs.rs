//! Objects in photographs, seen through a backbone.

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use super::Model;
use super::patch_task::{PatchTask, most_probable};
use crate::Error;
use crate::extract::ScoredKeypoint;
use crate::geometry::{Detection, Keypoint, PixelBox};
use crate::keypoints;
use crate::sample::Source;

impl Model {
    /// At most `k[i]` objects of photograph `i`, of any size, most probable first; what is no object has the last label.
    pub(super) fn find_in_photographs(
        &self,
        images: Tensor<4>,
        k: &[usize],
    ) -> Result<Vec<Vec<Detection>>, Error> {
        let [_, _, height, width] = images.dims();
        let mirrored = match self.config.backbone.as_ref().is_some_and(|b| b.mirror) {
            true => Some(self.source(images.clone().flip([3]))?),
            false => None,
        };
        let source = self.source(images)?;
        let mut found = self.find_in_source(&source, mirrored.as_ref(), k)?;
        let [_, _, rows, columns] = source.maps.dims();
        let x_factor = width as f32 / (columns as f32 * source.stride_px);
        let y_factor = height as f32 / (rows as f32 * source.stride_px);
        for detection in found.iter_mut().flatten() {
            let bounds = &mut detection.bounds;
            bounds.x_min_px *= x_factor;
            bounds.x_max_px *= x_factor;
            bounds.y_min_px *= y_factor;
            bounds.y_max_px *= y_factor;
        }
        Ok(found)
    }

    /// The same in pixels of the resized image; responses and probabilities are averaged with those of the mirror images.
    pub(super) fn find_in_source(
        &self,
        source: &Source,
        mirrored: Option<&Source>,
        k: &[usize],
    ) -> Result<Vec<Vec<Detection>>, Error> {
        let [batch, ..] = source.maps.dims();
        if k.len() != batch {
            return Err(Error::Mismatch {
                what: "numbers of objects, one per image",
                expected: vec![batch],
                actual: vec![k.len()],
            });
        }
        let most = k.iter().copied().max().unwrap_or(0);
        if most == 0 {
            return Ok(vec![Vec::new(); batch]);
        }
        let located = self.locate_in(source, mirrored, most)?;
        let keypoints: Vec<Vec<Keypoint>> = located
            .iter()
            .map(|image| image.iter().map(|found| found.keypoint).collect())
            .collect();
        let mut probabilities = self.probabilities(source, &keypoints)?;
        if let Some(mirrored) = mirrored {
            let width_px = mirrored.maps.dims()[3] as f32 * mirrored.stride_px;
            let mut keypoints = keypoints;
            for keypoint in keypoints.iter_mut().flatten() {
                keypoint.x_px = width_px - keypoint.x_px;
            }
            let others = self.probabilities(mirrored, &keypoints)?;
            for (probability, other) in probabilities.iter_mut().zip(others) {
                *probability = 0.5 * (*probability + other);
            }
        }
        let classes = self.config.task.classes().unwrap_or(0);
        let mut of_patches = probabilities.chunks_exact(classes.max(1));
        let mut labelled = |found: &ScoredKeypoint| {
            let probabilities = of_patches.next().unwrap_or_default();
            let label = most_probable(probabilities);
            Detection {
                bounds: self.bounds(found.keypoint),
                label,
                score: probabilities.get(label).copied().unwrap_or_default(),
            }
        };
        let mut detections: Vec<Vec<Detection>> = located
            .iter()
            .map(|image| image.iter().map(&mut labelled).collect())
            .collect();
        for (image, &k) in detections.iter_mut().zip(k) {
            image.truncate(k);
            image.sort_by(|a, b| b.score.total_cmp(&a.score));
        }
        Ok(detections)
    }

    /// The probability of each class at each keypoint, image after image.
    fn probabilities(
        &self,
        source: &Source,
        keypoints: &[Vec<Keypoint>],
    ) -> Result<Vec<f32>, Error> {
        let points = keypoints::to_tensor(keypoints, &source.maps.device())?;
        let (seen, task) = source.for_network(&self.task)?;
        let patches = seen.sample(points, self.config.geometry)?;
        let [batch, instances, channels, height, width] = patches.dims();
        let patches = patches.reshape([batch * instances, channels, height, width]);
        let reader = PatchTask {
            config: &self.config,
            network: &task,
        };
        let logits = reader.run(patches, instances)?;
        Ok(softmax(logits, 1).try_into_vec_as::<f32>()?)
    }

    fn bounds(&self, keypoint: Keypoint) -> PixelBox {
        keypoint.to_box(self.config.geometry.base_box_px)
    }
}
