//! A whole model: H, E_K, S and T with their settings (paper, section 3), as one value and one file.

use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor, TensorData};
use mist_kernels::network::{Network, NetworkError};
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::extract::{Extractor, ScoredKeypoint};
use crate::geometry::Detection;
use crate::heatmap::{HeatmapNetwork, LocalSoftmax, ScaleLevels};
use crate::keypoints;
use crate::networks::{
    DetectorConfig, EncoderConfig, InputStatistics, NetworkModule, PatchValues, autoencoder,
    classifier, refuse_unknown,
};
use crate::sample::{PatchGeometry, paste, sample};

const DETECTOR: &str = "detector";
const TASK: &str = "task";

/// The task network T.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum TaskNetwork {
    /// Reads a class from each patch.
    Classifier {
        /// The convolutional part.
        encoder: EncoderConfig,
        /// Number of classes.
        classes: usize,
    },
    /// Redraws each patch.
    Autoencoder {
        /// The way to the code; the way back mirrors it.
        encoder: EncoderConfig,
        /// What it may draw.
        #[serde(default)]
        values: PatchValues,
    },
}

impl TaskNetwork {
    /// The description of the network.
    ///
    /// # Errors
    /// When a width is zero.
    pub fn network(&self) -> Result<Network, NetworkError> {
        match self {
            Self::Classifier { encoder, classes } => classifier(encoder, *classes),
            Self::Autoencoder { encoder, values } => autoencoder(encoder, *values),
        }
    }
}

/// Everything about a model but its weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// The value of an image without objects: what is seen and redrawn is the difference to it.
    #[serde(default)]
    pub background: f32,
    /// Scale levels of H.
    pub scales: ScaleLevels,
    /// Network of H.
    pub detector: DetectorConfig,
    /// Softmax of H.
    pub softmax: LocalSoftmax,
    /// E_K.
    pub extractor: Extractor,
    /// S.
    pub geometry: PatchGeometry,
    /// T.
    pub task: TaskNetwork,
}

impl ModelConfig {
    /// The released code's MNIST model.
    pub fn official() -> Self {
        Self {
            background: 0.0,
            scales: ScaleLevels::single(),
            detector: DetectorConfig::official(),
            softmax: LocalSoftmax::official(),
            extractor: Extractor::new(9),
            geometry: PatchGeometry::mnist(),
            task: TaskNetwork::Classifier {
                encoder: EncoderConfig::official(),
                classes: 10,
            },
        }
    }

    /// Refuses settings that no image could be run with.
    ///
    /// # Errors
    /// When one of the parts is impossible.
    pub fn check(&self) -> Result<(), Error> {
        if !self.background.is_finite() {
            return Err(Error::Setting {
                name: "background",
                requirement: "finite",
            });
        }
        self.detector.network()?;
        self.task.network()?;
        self.softmax.check()?;
        self.extractor.check_windows()?;
        self.geometry.check()
    }

    /// Channels of the images it sees.
    pub fn image_channels(&self) -> usize {
        self.detector.in_channels
    }
}

/// H, E_K, S and T.
#[derive(Clone, Debug)]
pub struct Model {
    /// H.
    pub heatmap: HeatmapNetwork,
    /// T.
    pub task: NetworkModule,
    config: ModelConfig,
}

impl Model {
    /// A model with starting weights drawn from `seed`.
    ///
    /// # Errors
    /// When the settings are impossible.
    pub fn init(config: ModelConfig, seed: u64, device: &Device) -> Result<Self, Error> {
        let detector = NetworkModule::init(config.detector.network()?, seed, device)?;
        let task = NetworkModule::init(config.task.network()?, !seed, device)?;
        Self::from_networks(config, detector, task)
    }

    fn from_networks(
        config: ModelConfig,
        detector: NetworkModule,
        task: NetworkModule,
    ) -> Result<Self, Error> {
        let heatmap = HeatmapNetwork::new(detector, config.scales.clone(), config.softmax)?;
        Ok(Self {
            heatmap,
            task,
            config,
        })
    }

    /// The settings.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The same with another K.
    #[must_use]
    pub fn with_instances(mut self, instances: usize) -> Self {
        self.config.extractor.instances = instances;
        self
    }

    /// A copy on another device, with other weights where they are given.
    pub(crate) fn copy_with(
        &self,
        detector: Option<Vec<f32>>,
        task: Option<Vec<f32>>,
        device: &Device,
    ) -> Result<Self, Error> {
        let copy = |network: &NetworkModule, weights: Option<Vec<f32>>| {
            let weights = weights.map_or_else(|| network.parameter_values(), Ok)?;
            let (mean, variance) = network.running_statistics();
            let moved = |tensor: Tensor<1>| -> Result<Tensor<1>, Error> {
                let values = tensor.try_into_vec_as::<f32>()?;
                let length = values.len();
                Ok(Tensor::from_data(TensorData::new(values, [length]), device))
            };
            let copy = NetworkModule::from_parameters(network.network().clone(), weights, device)?;
            Ok::<_, Error>(copy.with_running_statistics(moved(mean)?, moved(variance)?))
        };
        Self::from_networks(
            self.config.clone(),
            copy(&self.heatmap.detector, detector)?,
            copy(&self.task, task)?,
        )
    }

    /// The weights of both networks by name.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn to_safetensors(&self) -> Result<Vec<u8>, Error> {
        let mut tensors = self.heatmap.detector.named_tensors(DETECTOR)?;
        tensors.extend(self.task.named_tensors(TASK)?);
        Ok(safetensors::serialize(tensors, None)?)
    }

    /// Reads what [`Model::to_safetensors`] wrote.
    ///
    /// # Errors
    /// When the bytes are damaged or belong to another model.
    pub fn from_safetensors(
        config: ModelConfig,
        bytes: &[u8],
        device: &Device,
    ) -> Result<Self, Error> {
        let file = SafeTensors::deserialize(bytes)?;
        let read = |network, prefix| NetworkModule::from_named(network, &file, prefix, device);
        let (detector, mut known) = read(config.detector.network()?, DETECTOR)?;
        let (task, of_task) = read(config.task.network()?, TASK)?;
        known.extend(of_task);
        refuse_unknown(&file, &known)?;
        Self::from_networks(config, detector, task)
    }

    /// What the networks see of images of any shape: their difference to the background.
    pub fn foreground(&self, images: Tensor<4>) -> Tensor<4> {
        if self.config.background == 0.0 {
            images
        } else {
            images - self.config.background
        }
    }

    /// The heatmap's K strongest maxima of each image, strongest first: `E_K(H(I))`.
    ///
    /// # Shapes
    /// - `images`: `[batch, channels, height, width]`
    ///
    /// # Errors
    /// When an image is too small or the heatmap is not finite.
    pub fn locate(&self, images: Tensor<4>) -> Result<Vec<Vec<ScoredKeypoint>>, Error> {
        let images = self.foreground(images);
        let heatmaps = self.heatmap.forward(images, InputStatistics::Running)?;
        self.config
            .extractor
            .extract(heatmaps, self.heatmap.levels())
    }

    /// K boxes per image, strongest response first, each with its most probable label; the score is the heatmap's.
    ///
    /// An auto-encoder gives every box the label 0.
    ///
    /// # Shapes
    /// - `images`: `[batch, channels, height, width]`
    ///
    /// # Errors
    /// As [`Model::locate`].
    pub fn detect(&self, images: Tensor<4>) -> Result<Vec<Vec<Detection>>, Error> {
        let found = self.locate(images.clone())?;
        self.label(images, &found)
    }

    /// Boxes and labels of keypoints that [`Model::locate`] found.
    ///
    /// # Errors
    /// When images and keypoints do not belong together, or the task network's output is not finite.
    pub fn label(
        &self,
        images: Tensor<4>,
        found: &[Vec<ScoredKeypoint>],
    ) -> Result<Vec<Vec<Detection>>, Error> {
        let mut labels = self.labels(images, found)?.into_iter();
        let mut labelled = |found: &ScoredKeypoint| Detection {
            bounds: found.keypoint.to_box(self.config.geometry.base_box_px),
            label: labels.next().unwrap_or_default(),
            score: found.score,
        };
        Ok(found
            .iter()
            .map(|image| image.iter().map(&mut labelled).collect())
            .collect())
    }

    /// The image redrawn from its patches by an auto-encoder: the background and `sum_k S^-1(T(S(I, x_k)), x_k)`.
    ///
    /// # Shapes
    /// - `images` and output: `[batch, channels, height, width]`
    /// - `found`: K keypoints per image
    ///
    /// # Errors
    /// When the model has a classifier, images and keypoints do not belong together, or what is redrawn is not finite.
    pub fn redraw(
        &self,
        images: Tensor<4>,
        found: &[Vec<ScoredKeypoint>],
    ) -> Result<Tensor<4>, Error> {
        let TaskNetwork::Autoencoder { .. } = self.config.task else {
            return Err(Error::Setting {
                name: "task",
                requirement: "an auto-encoder to redraw an image",
            });
        };
        let [batch, channels, height, width] = images.dims();
        let (instances, side) = (
            found.first().map_or(0, Vec::len),
            self.config.geometry.patch_px,
        );
        let (patches, points) = self.patches(images, found)?;
        let redrawn = self.task.forward(patches, InputStatistics::Running)?;
        let redrawn = redrawn.reshape([batch, instances, channels, side, side]);
        let objects = paste(redrawn, points, self.config.geometry, height, width)?;
        refuse_non_finite(&objects, batch)?;
        Ok(objects + self.config.background)
    }

    /// Every keypoint's patch and what the task network makes of it, image after image.
    ///
    /// # Shapes
    /// - patches: `[batch * K, channels, side, side]`
    /// - output of T: `[batch * K, classes, 1, 1]`, or as the patches for an auto-encoder
    ///
    /// # Errors
    /// When images and keypoints do not belong together, or the task network's output is not finite.
    pub fn see(
        &self,
        images: Tensor<4>,
        found: &[Vec<ScoredKeypoint>],
    ) -> Result<(Tensor<4>, Tensor<4>), Error> {
        let (patches, _) = self.patches(images, found)?;
        let output = self
            .task
            .forward(patches.clone(), InputStatistics::Running)?;
        refuse_non_finite(&output, found.len())?;
        Ok((patches, output))
    }

    /// Every keypoint's patch, `[batch * K, channels, side, side]`, and the keypoints, `[batch, K, 3]`.
    fn patches(
        &self,
        images: Tensor<4>,
        found: &[Vec<ScoredKeypoint>],
    ) -> Result<(Tensor<4>, Tensor<3>), Error> {
        let points: Vec<Vec<_>> = found
            .iter()
            .map(|image| image.iter().map(|found| found.keypoint).collect())
            .collect();
        let points = keypoints::to_tensor(&points, &images.device())?;
        let patches = sample(
            self.foreground(images),
            points.clone(),
            self.config.geometry,
        )?;
        let [batch, instances, channels, height, width] = patches.dims();
        Ok((
            patches.reshape([batch * instances, channels, height, width]),
            points,
        ))
    }

    /// The most probable label of each keypoint, image after image.
    fn labels(
        &self,
        images: Tensor<4>,
        found: &[Vec<ScoredKeypoint>],
    ) -> Result<Vec<usize>, Error> {
        let TaskNetwork::Classifier { classes, .. } = self.config.task else {
            return Ok(Vec::new());
        };
        let (patches, _) = self.patches(images, found)?;
        let logits = self.task.forward(patches, InputStatistics::Running)?;
        refuse_non_finite(&logits, found.len())?;
        let probabilities = softmax(logits, 1).try_into_vec_as::<f32>()?;
        Ok(probabilities
            .chunks_exact(classes)
            .map(most_probable)
            .collect())
    }
}

/// Huge weights give infinite outputs, which would pass for the first label and clipped pixels.
fn refuse_non_finite(output: &Tensor<4>, images: usize) -> Result<(), Error> {
    let values = output.clone().try_into_vec_as::<f32>()?;
    let per_image = (values.len() / images.max(1)).max(1);
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(Error::NonFiniteOutput {
            image: index / per_image,
        }),
        None => Ok(()),
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
