//! What becomes of keypoints, wherever they come from: S, T and S^-1.

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use super::{ModelConfig, TASK, TaskNetwork};
use crate::Error;
use crate::extract::ScoredKeypoint;
use crate::finder::Patches;
use crate::geometry::{Detection, Keypoint};
use crate::keypoints;
use crate::networks::{InputStatistics, NetworkModule};
use crate::sample::{paste, sample};

/// The task network of a model with its settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatchTask<'a> {
    pub config: &'a ModelConfig,
    pub network: &'a NetworkModule,
}

impl PatchTask<'_> {
    /// Labels the strongest `k` of each image's keypoints: `locate` gets the images and the largest `k`, and returns as many
    /// keypoints of each image, strongest first.
    pub fn find(
        &self,
        images: Tensor<4>,
        k: &[usize],
        locate: impl FnOnce(Tensor<4>, usize) -> Result<Vec<Vec<ScoredKeypoint>>, Error>,
    ) -> Result<Vec<Vec<Detection>>, Error> {
        let [batch, ..] = images.dims();
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
        let found = locate(images.clone(), most)?;
        let mut detections = self.label(images, &found)?;
        for (image, &k) in detections.iter_mut().zip(k) {
            image.truncate(k);
        }
        Ok(detections)
    }

    /// Boxes and labels of keypoints, as many for each image; an auto-encoder gives every box the label 0.
    pub fn label(
        &self,
        images: Tensor<4>,
        found: &[Vec<ScoredKeypoint>],
    ) -> Result<Vec<Vec<Detection>>, Error> {
        let keypoints: Vec<Vec<Keypoint>> = found
            .iter()
            .map(|image| image.iter().map(|found| found.keypoint).collect())
            .collect();
        let foreground = self.config.foreground(images);
        let mut labels = self.labels(foreground, &keypoints)?.into_iter();
        let mut labelled =
            |found: &ScoredKeypoint| self.detection(found, labels.next().unwrap_or_default());
        Ok(found
            .iter()
            .map(|image| image.iter().map(&mut labelled).collect())
            .collect())
    }

    pub fn detection(&self, found: &ScoredKeypoint, label: usize) -> Detection {
        Detection {
            bounds: found.keypoint.to_box(self.config.geometry.base_box_px),
            label,
            score: found.score,
        }
    }

    /// The keypoint whose box a detection is.
    fn keypoint(&self, detection: &Detection) -> Keypoint {
        let (x_px, y_px) = detection.bounds.centre_px();
        Keypoint {
            x_px,
            y_px,
            scale: detection.bounds.width_px() / self.config.geometry.base_box_px,
        }
    }

    fn keypoints(&self, found: &[Vec<Detection>]) -> Vec<Vec<Keypoint>> {
        let image = |image: &Vec<Detection>| image.iter().map(|d| self.keypoint(d)).collect();
        found.iter().map(image).collect()
    }

    fn redraws(&self) -> bool {
        matches!(self.config.task, TaskNetwork::Autoencoder { .. })
    }

    /// Background and `sum_k S^-1(T(S(I, x_k)), x_k)`, for images with equally many keypoints.
    fn redraw_batch(
        &self,
        images: Tensor<4>,
        keypoints: &[Vec<Keypoint>],
    ) -> Result<Tensor<4>, Error> {
        let [batch, channels, height, width] = images.dims();
        let side = self.config.geometry.patch_px;
        let (patches, points) = self.sample_patches(self.config.foreground(images), keypoints)?;
        let instances = points.dims()[1];
        let redrawn = self.run(patches, instances)?;
        let redrawn = redrawn.reshape([batch, instances, channels, side, side]);
        let objects = paste(redrawn, points, self.config.geometry, height, width)?;
        Ok(objects + self.config.background)
    }

    /// Every keypoint's patch, `[batch * K, channels, side, side]`, and the keypoints, `[batch, K, 3]`.
    fn sample_patches(
        &self,
        foreground: Tensor<4>,
        keypoints: &[Vec<Keypoint>],
    ) -> Result<(Tensor<4>, Tensor<3>), Error> {
        let points = keypoints::to_tensor(keypoints, &foreground.device())?;
        let patches = sample(foreground, points.clone(), self.config.geometry)?;
        let [batch, instances, channels, height, width] = patches.dims();
        Ok((
            patches.reshape([batch * instances, channels, height, width]),
            points,
        ))
    }

    /// The task network's output for the patches of images with `instances` each.
    pub fn run(&self, patches: Tensor<4>, instances: usize) -> Result<Tensor<4>, Error> {
        let output = self.network.forward(patches, InputStatistics::Running)?;
        let [rows, channels, height, width] = output.dims();
        let values = output.clone().try_into_vec_as::<f32>()?;
        match values.iter().position(|value| !value.is_finite()) {
            Some(place) if rows > 0 => Err(Error::NonFiniteOutput {
                network: TASK,
                image: place / (channels * height * width * instances.max(1)),
            }),
            _ => Ok(output),
        }
    }

    /// The most probable label of each keypoint, image after image, in the foreground of images; none of an auto-encoder.
    pub fn labels(
        &self,
        foreground: Tensor<4>,
        keypoints: &[Vec<Keypoint>],
    ) -> Result<Vec<usize>, Error> {
        let TaskNetwork::Classifier { classes, .. } = self.config.task else {
            return Ok(Vec::new());
        };
        let (patches, points) = self.sample_patches(foreground, keypoints)?;
        let logits = self.run(patches, points.dims()[1])?;
        let probabilities = softmax(logits, 1).try_into_vec_as::<f32>()?;
        Ok(probabilities
            .chunks_exact(classes)
            .map(most_probable)
            .collect())
    }

    /// The images redrawn from what was found in them; `None` without an auto-encoder.
    pub fn redraw(
        &self,
        images: Tensor<4>,
        found: &[Vec<Detection>],
    ) -> Result<Option<Tensor<4>>, Error> {
        if !self.redraws() {
            return Ok(None);
        }
        let keypoints = self.keypoints(found);
        if keypoints.iter().all(Vec::is_empty) {
            return Ok(Some(images.zeros_like() + self.config.background));
        }
        if keypoints
            .windows(2)
            .all(|pair| pair[0].len() == pair[1].len())
        {
            return Ok(Some(self.redraw_batch(images, &keypoints)?));
        }
        let one_by_one = keypoints.chunks(1).enumerate().map(|(index, image)| {
            let images = images.clone().narrow(0, index, 1);
            match image {
                [keypoints] if keypoints.is_empty() => {
                    Ok(images.zeros_like() + self.config.background)
                }
                _ => self.redraw_batch(images, image),
            }
        });
        let redrawn = one_by_one.collect::<Result<Vec<_>, Error>>()?;
        Ok(Some(Tensor::cat(redrawn, 0)))
    }

    /// The patches behind detections; `None` where nothing was found.
    pub fn patches(
        &self,
        images: Tensor<4>,
        found: &[Vec<Detection>],
    ) -> Result<Option<Patches>, Error> {
        if found.iter().all(Vec::is_empty) {
            return Ok(None);
        }
        let foreground = self.config.foreground(images);
        let keypoints = self.keypoints(found);
        let most = keypoints.iter().map(Vec::len).max().unwrap_or(0);
        let seen = match keypoints.iter().all(|image| image.len() == most) {
            true => self.sample_patches(foreground, &keypoints)?.0,
            false => {
                let images = keypoints.chunks(1).enumerate();
                let some = images.filter(|(_, image)| !image.concat().is_empty());
                let seen = some.map(|(index, image)| {
                    let foreground = foreground.clone().narrow(0, index, 1);
                    Ok(self.sample_patches(foreground, image)?.0)
                });
                Tensor::cat(seen.collect::<Result<_, Error>>()?, 0)
            }
        };
        let redrawn = match self.redraws() {
            true => Some(self.run(seen.clone(), most)?),
            false => None,
        };
        Ok(Some(Patches {
            seen,
            redrawn,
            background: self.config.background,
            shown_px: self.config.geometry.shown_px(),
        }))
    }
}

pub(super) fn most_probable(probabilities: &[f32]) -> usize {
    let best = (0..probabilities.len()).max_by(|&a, &b| {
        probabilities[a]
            .total_cmp(&probabilities[b])
            .then(b.cmp(&a))
    });
    best.unwrap_or_default()
}
