//! Learning from how many objects of each class an image holds.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::appearance::{Appearances, CountedDiscs, features};
use super::detector::DetectorStep;
use super::peaks::hides;
use super::{CentreModel, CentresConfig, views};
use crate::Error;
use crate::finder::Finder;
use crate::geometry::Keypoint;
use crate::keypoints;
use crate::networks::InputStatistics;
use crate::proposals::{Objects, Plane};
use crate::sample::sample;
use crate::training::{Batch, Learner, LearnerState, Panel, Progress, Step, TrainedModel};

/// A model that learns from discs and counts.
#[derive(Debug)]
pub(super) struct CountedLearner {
    config: CentresConfig,
    trained: TrainedModel,
    seed: u64,
    memory: Memory,
}

/// What is remembered beside the networks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Memory {
    /// Discs of the images seen so far, until there are enough of them.
    census: Vec<CountedDiscs>,
    /// What they told.
    appearances: Option<Appearances>,
}

/// The discs of each image, and what they look like.
#[derive(Debug, Default)]
struct FoundDiscs {
    keypoints: Vec<Vec<Keypoint>>,
    features: Vec<Vec<Vec<f32>>>,
}

impl CountedLearner {
    pub(super) fn new(config: CentresConfig, trained: TrainedModel, seed: u64) -> Self {
        Self {
            config,
            trained,
            seed,
            memory: Memory::default(),
        }
    }

    fn base_box_px(&self) -> f32 {
        self.trained.model.config().geometry.base_box_px
    }

    /// The discs of each image.
    fn discs(&self, planes: &[Vec<Plane>]) -> FoundDiscs {
        let base_box_px = self.base_box_px();
        let mut found = FoundDiscs::default();
        for planes in planes {
            let gray = views::gray(planes);
            let mut kept: Vec<Keypoint> = Vec::new();
            for disc in self.config.discs.objects(&gray, base_box_px).keypoints {
                if !kept.iter().any(|other| hides(other, &disc, base_box_px)) {
                    kept.push(disc);
                }
            }
            let of_disc = |disc: &Keypoint| features(planes, disc, base_box_px);
            found.features.push(kept.iter().map(of_disc).collect());
            found.keypoints.push(kept);
        }
        found
    }

    /// T's log-probabilities for all discs, image after image, `[discs, classes]`; `None` without any.
    fn votes(
        &self,
        images: &Tensor<4>,
        keypoints: &[Vec<Keypoint>],
    ) -> Result<Option<Tensor<2>>, Error> {
        let model = &self.trained.model;
        let geometry = model.config().geometry;
        let mut all = Vec::new();
        for (index, keypoints) in keypoints.iter().enumerate() {
            if !keypoints.is_empty() {
                let points =
                    keypoints::to_tensor(std::slice::from_ref(keypoints), &images.device())?;
                let image = images.clone().narrow(0, index, 1);
                let patches = sample(image, points, geometry)?;
                let [_, instances, channels, height, width] = patches.dims();
                all.push(patches.reshape([instances, channels, height, width]));
            }
        }
        if all.is_empty() {
            return Ok(None);
        }
        let logits = model
            .task
            .forward(Tensor::cat(all, 0), InputStatistics::Running)?;
        let [discs, classes, ..] = logits.dims();
        Ok(Some(log_softmax(logits.reshape([discs, classes]), 1)))
    }

    /// T learns the labels of the discs.
    fn task_stage(
        &mut self,
        votes: Option<Tensor<2>>,
        labels: &[Vec<usize>],
        progress: Progress,
    ) -> Result<f32, Error> {
        let Some(votes) = votes else {
            return Ok(0.0);
        };
        let labels: Vec<i64> = labels.iter().flatten().map(|&label| label as i64).collect();
        let shape = [labels.len(), 1];
        let labels = Tensor::<2, Int>::from_data(TensorData::new(labels, shape), &votes.device());
        let loss = votes.gather(1, labels).neg().mean();
        self.trained.step_task(&loss.backward(), progress)?;
        Ok(loss.inner().into_scalar())
    }

    /// The images changed, and where in them those keypoints are that are objects.
    fn augmented(
        &self,
        planes: &[Vec<Plane>],
        keypoints: Vec<Vec<Keypoint>>,
        random: &mut ChaCha8Rng,
    ) -> (Vec<Vec<Plane>>, Vec<Vec<Keypoint>>) {
        let base_box_px = self.base_box_px();
        let images = planes.iter().zip(keypoints);
        images
            .map(|(planes, keypoints)| {
                let objects = Objects {
                    keypoints,
                    owners: Vec::new(),
                };
                let augmentation = &self.config.augmentation;
                augmentation.apply(planes, &objects, base_box_px, random)
            })
            .unzip()
    }
}

/// Objects of each class; the last one, the background, is left out.
fn object_counts(batch: &Batch) -> Result<Vec<Vec<usize>>, Error> {
    let what = "class counts";
    let counts = batch
        .class_counts
        .as_ref()
        .ok_or(Error::NotKnown { what })?;
    let objects = |counts: &Vec<usize>| counts[..counts.len().saturating_sub(1)].to_vec();
    Ok(counts.iter().map(objects).collect())
}

impl Learner for CountedLearner {
    fn step(&mut self, batch: &Batch, progress: Progress) -> Result<Step, Error> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(progress.step);
        let counts = object_counts(batch)?;
        let images = views::seen(&self.trained.model, batch.images.clone())?;
        let planes = views::planes(images.clone())?;
        let found = self.discs(&planes);
        let (labels, task_loss) = match self.memory.appearances.clone() {
            Some(appearances) => {
                let images_and_counts = found.features.iter().zip(&counts);
                let labels: Vec<Vec<usize>> = images_and_counts
                    .map(|(features, counts)| appearances.labels(features, counts))
                    .collect();
                let votes = self.votes(&images, &found.keypoints)?;
                let task_loss = self.task_stage(votes, &labels, progress)?;
                (labels, task_loss)
            }
            None => {
                let features = found.features.iter().cloned();
                let discs = features
                    .zip(&counts)
                    .map(|(features, counts)| CountedDiscs {
                        features,
                        counts: counts.clone(),
                    });
                self.memory.census.extend(discs);
                if self.memory.census.len() >= self.config.counted.census_images {
                    let census = std::mem::take(&mut self.memory.census);
                    self.memory.appearances = Some(Appearances::fit(&census, &mut random));
                }
                // Until it is known which of them are meant, H learns all discs.
                let all = found.keypoints.iter();
                (all.map(|image| vec![0; image.len()]).collect(), 0.0)
            }
        };
        let chosen: Vec<Vec<Keypoint>> = found
            .keypoints
            .iter()
            .zip(labels.iter().zip(&counts))
            .map(|(keypoints, (labels, counts))| {
                let pairs = keypoints.iter().zip(labels);
                let objects = pairs.filter(|(_, label)| **label < counts.len());
                objects.map(|(keypoint, _)| *keypoint).collect()
            })
            .collect();
        let start = views::in_image(&self.trained.model, &chosen);
        let (changed, moved) = self.augmented(&planes, chosen, &mut random);
        let changed = views::to_tensor(&changed, images.dims(), &images.device());
        let taken = DetectorStep::take(&mut self.trained, &self.config, changed, &moved, progress)?;
        let mut panels = vec![Panel::keypoints("chosen", &start, self.base_box_px())];
        let measurements = taken.measurements(task_loss);
        panels.extend(taken.panels());
        Ok(Step {
            measurements,
            panels,
        })
    }

    fn state(&self) -> Result<LearnerState, Error> {
        let mut state = self.trained.state()?;
        state.memory = serde_json::to_value(&self.memory).map_err(Error::Memory)?;
        Ok(state)
    }

    fn restore(&mut self, mut state: LearnerState) -> Result<(), Error> {
        let memory = std::mem::take(&mut state.memory);
        self.memory = serde_json::from_value(memory).map_err(Error::Memory)?;
        self.trained.restore(&mut state)
    }

    fn finder(&self, device: &Device) -> Result<Box<dyn Finder>, Error> {
        Ok(Box::new(CentreModel(self.trained.averaged(device)?)))
    }
}
