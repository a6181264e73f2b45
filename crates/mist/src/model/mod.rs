//! A whole model: H, E_K, S and T with their settings (paper, section 3), as one value and one file.

mod patch_task;
mod photographs;

use burn::tensor::{Device, Tensor, TensorData};
use mist_kernels::network::{Network, NetworkError, Shape};
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::backbone::{Backbone, BackboneConfig, FeatureExtractor, FeatureStatistics};
use crate::extract::{Extractor, ScoredKeypoint, Selection};
use crate::finder::{Finder, Patches};
use crate::geometry::{Detection, Keypoint};
use crate::heatmap::{
    CoarseHeatmap, HeatmapKind, HeatmapNetwork, LocalSoftmax, MultiScale, ScaleLevels, resize,
};
use crate::large::{ImageView, LargeSearch};
use crate::networks::{
    DetectorConfig, EncoderConfig, FeatureClassifier, InputStatistics, NetworkModule, PatchValues,
    autoencoder, classifier, refuse_unknown,
};
use crate::sample::{PatchGeometry, Source};
use crate::settings::within;
use crate::training::Batch;

pub(crate) use patch_task::PatchTask;

/// Names of the two networks in weights, checkpoints and settings.
pub(crate) const DETECTOR: &str = "detector";
pub(crate) const TASK: &str = "task";

/// The task network T.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum TaskNetwork {
    /// Reads a class from each patch.
    Classifier {
        /// The convolutional part.
        #[serde(default)]
        encoder: EncoderConfig,
        /// Number of classes.
        classes: usize,
    },
    /// Redraws each patch.
    Autoencoder {
        /// The encoder; the decoder mirrors it.
        #[serde(default)]
        encoder: EncoderConfig,
        /// What it may draw.
        #[serde(default)]
        values: PatchValues,
    },
    /// Reads a class from each patch of a backbone's features.
    FeatureClassifier(FeatureClassifier),
}

impl TaskNetwork {
    /// Number of classes that it tells apart; `None` for an auto-encoder.
    pub fn classes(&self) -> Option<usize> {
        match self {
            Self::Classifier { classes, .. } => Some(*classes),
            Self::Autoencoder { .. } => None,
            Self::FeatureClassifier(classifier) => Some(classifier.classes),
        }
    }

    /// The description of the network.
    ///
    /// # Errors
    /// When a width is zero.
    pub fn network(&self) -> Result<Network, NetworkError> {
        match self {
            Self::Classifier { encoder, classes } => classifier(encoder, *classes),
            Self::Autoencoder { encoder, values } => autoencoder(encoder, *values),
            Self::FeatureClassifier(classifier) => classifier.network(),
        }
    }
}

/// Everything about a model but its weights. What a file leaves out is as in [`ModelConfig::paper`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// The value of an image without objects: what is seen and redrawn is the difference to it.
    #[serde(default)]
    pub background: f32,
    /// Scale levels of H.
    #[serde(default)]
    pub scales: ScaleLevels,
    /// Network of H.
    #[serde(default)]
    pub detector: DetectorConfig,
    /// Softmax of H.
    #[serde(default)]
    pub softmax: LocalSoftmax,
    /// E_K.
    #[serde(default)]
    pub extractor: Extractor,
    /// S.
    #[serde(default)]
    pub geometry: PatchGeometry,
    /// T.
    pub task: TaskNetwork,
    /// What photographs are seen through: with it H and S work on features, and `scales`, `detector` and `softmax` do not
    /// count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backbone: Option<BackboneConfig>,
    /// From this score on what is found is an object, for models that find out how many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_score: Option<f32>,
}

impl ModelConfig {
    /// The paper's model of gray images with some task network; numbers that the paper does not give are the released
    /// code's. It gives neither the number of scales nor their values, and the released code has one.
    pub fn paper(task: TaskNetwork) -> Self {
        Self {
            background: 0.0,
            scales: ScaleLevels::default(),
            detector: DetectorConfig::default(),
            softmax: LocalSoftmax::default(),
            extractor: Extractor::default(),
            geometry: PatchGeometry::default(),
            task,
            backbone: None,
            least_score: None,
        }
    }

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
            backbone: None,
            least_score: None,
        }
    }

    /// Refuses settings that no image could be run with, and sizes beyond all use.
    ///
    /// # Errors
    /// When one of the parts is impossible.
    pub fn check(&self) -> Result<(), Error> {
        within([
            ("background", self.background, -1e6..=1e6),
            ("least_score", self.least_score.unwrap_or(0.0), 0.0..=1.0),
        ])?;
        self.detector_network()?;
        self.task.network()?;
        self.softmax.check()?;
        self.extractor.check()?;
        self.geometry.check()?;
        let patch_px = self.geometry.patch_px;
        let patch = Shape::new(self.source_channels(), patch_px, patch_px);
        self.task.network()?.output_shape(patch)?;
        let on_features = matches!(self.task, TaskNetwork::FeatureClassifier(_));
        match &self.backbone {
            Some(backbone) if on_features => backbone.check(),
            None if !on_features => Ok(()),
            _ => Err(Error::Setting {
                name: "task",
                requirement: "`feature_classifier` with a backbone, and only then".into(),
            }),
        }
    }

    /// Channels of the images it sees.
    pub fn image_channels(&self) -> usize {
        match self.backbone {
            Some(_) => 3,
            None => self.detector.in_channels,
        }
    }

    /// Channels of what H and S see: images, or a backbone's features.
    pub fn source_channels(&self) -> usize {
        match &self.backbone {
            Some(backbone) => backbone.architecture.channels(),
            None => self.detector.in_channels,
        }
    }

    /// The network of H.
    ///
    /// # Errors
    /// When a setting is out of range.
    pub fn detector_network(&self) -> Result<Network, NetworkError> {
        match &self.backbone {
            Some(backbone) => backbone.head.network(self.source_channels()),
            None => self.detector.network(),
        }
    }

    /// What the networks see of images of any shape: their difference to the background.
    pub fn foreground(&self, images: Tensor<4>) -> Tensor<4> {
        if self.background == 0.0 {
            images
        } else {
            images - self.background
        }
    }

    fn heatmap_kind(&self) -> HeatmapKind {
        match &self.backbone {
            Some(backbone) => {
                let base_box_px = self.geometry.base_box_px;
                HeatmapKind::Coarse(CoarseHeatmap::new(backbone, base_box_px))
            }
            None => HeatmapKind::MultiScale(MultiScale::new(self.scales.clone(), self.softmax)),
        }
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
    features: Option<FeatureExtractor>,
}

impl Model {
    /// A model with starting weights drawn from `seed`.
    ///
    /// # Errors
    /// When the settings are impossible.
    pub fn init(config: ModelConfig, seed: u64, device: &Device) -> Result<Self, Error> {
        Self::init_with(config, seed, None, device)
    }

    /// As [`Model::init`], with what photographs are seen through.
    ///
    /// # Errors
    /// As [`Model::init`]; when the model needs a backbone that is not given.
    pub fn init_with(
        config: ModelConfig,
        seed: u64,
        features: Option<FeatureExtractor>,
        device: &Device,
    ) -> Result<Self, Error> {
        config.check()?;
        let detector = NetworkModule::init(config.detector_network()?, seed, device)?;
        let task = NetworkModule::init(config.task.network()?, !seed, device)?;
        Self::from_networks(config, detector, task, features)
    }

    fn from_networks(
        config: ModelConfig,
        detector: NetworkModule,
        task: NetworkModule,
        features: Option<FeatureExtractor>,
    ) -> Result<Self, Error> {
        if let (Some(backbone), None) = (&config.backbone, &features) {
            let weights = backbone.weights.clone();
            return Err(Error::NoBackbone { weights });
        }
        let heatmap = HeatmapNetwork::of_kind(detector, config.heatmap_kind())?;
        Ok(Self {
            heatmap,
            task,
            config,
            features,
        })
    }

    /// What it sees photographs through.
    pub fn features(&self) -> Option<&FeatureExtractor> {
        self.features.as_ref()
    }

    /// The settings.
    pub fn config(&self) -> &ModelConfig {
        &self.config
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
            self.features.clone(),
        )
    }

    /// Reads what [`Finder::to_safetensors`] wrote.
    ///
    /// # Errors
    /// When the bytes are damaged or belong to another model.
    pub fn from_safetensors(
        config: ModelConfig,
        bytes: &[u8],
        device: &Device,
    ) -> Result<Self, Error> {
        Self::from_safetensors_with(config, bytes, None, device)
    }

    /// As [`Model::from_safetensors`], with the backbone that photographs are seen through.
    ///
    /// # Errors
    /// As [`Model::from_safetensors`]; when the model needs a backbone that is not given.
    pub fn from_safetensors_with(
        config: ModelConfig,
        bytes: &[u8],
        backbone: Option<&Backbone>,
        device: &Device,
    ) -> Result<Self, Error> {
        config.check()?;
        let file = SafeTensors::deserialize(bytes)?;
        let read = |network, prefix| NetworkModule::from_named(network, &file, prefix, device);
        let (detector, mut known) = read(config.detector_network()?, DETECTOR)?;
        let (task, of_task) = read(config.task.network()?, TASK)?;
        known.extend(of_task);
        let features = match backbone.filter(|_| config.backbone.is_some()) {
            Some(backbone) => {
                let (statistics, names) =
                    FeatureStatistics::from_named(&file, config.source_channels())?;
                known.extend(names);
                Some(FeatureExtractor {
                    backbone: backbone.clone(),
                    statistics,
                })
            }
            None => None,
        };
        if features.is_some() == config.backbone.is_some() {
            refuse_unknown(&file, &known)?;
        }
        Self::from_networks(config, detector, task, features)
    }

    /// What H and S see of a batch: its images, or their features, which may be known already.
    ///
    /// # Errors
    /// When the images do not fit the backbone.
    pub fn source_of(&self, batch: &Batch) -> Result<Source, Error> {
        match (&self.features, &batch.features) {
            (Some(extractor), Some(features)) => {
                let maps = extractor.statistics.standardise(features.clone())?;
                Ok(self.feature_source(maps))
            }
            _ => self.source(batch.images.clone()),
        }
    }

    /// What H and S see of images of any shape: their difference to the background, or features of the resized images.
    ///
    /// # Errors
    /// When the images do not fit the backbone.
    pub fn source(&self, images: Tensor<4>) -> Result<Source, Error> {
        match (&self.features, &self.config.backbone) {
            (Some(extractor), Some(config)) => {
                let [_, _, height, width] = images.dims();
                let [height, width] = config.resized_px(height, width);
                let maps = extractor.features(resize(images, height, width)?)?;
                Ok(self.feature_source(maps))
            }
            _ => Ok(Source::image(self.foreground(images))),
        }
    }

    fn feature_source(&self, maps: Tensor<4>) -> Source {
        let stride_px = self
            .config
            .backbone
            .as_ref()
            .map_or(1.0, BackboneConfig::stride_px);
        Source { maps, stride_px }
    }

    /// What the networks see of images of any shape: their difference to the background.
    pub fn foreground(&self, images: Tensor<4>) -> Tensor<4> {
        self.config.foreground(images)
    }

    /// The heatmap's K strongest maxima of each image, strongest first: `E_K(H(I))`.
    ///
    /// # Shapes
    /// - `images`: `[batch, channels, height, width]`
    ///
    /// # Errors
    /// When an image is too small or the heatmap is not finite.
    pub fn locate(
        &self,
        images: Tensor<4>,
        instances: usize,
    ) -> Result<Vec<Vec<ScoredKeypoint>>, Error> {
        let source = self.source(images)?;
        self.locate_in(&source, None, instances)
    }

    fn locate_in(
        &self,
        source: &Source,
        mirrored: Option<&Source>,
        instances: usize,
    ) -> Result<Vec<Vec<ScoredKeypoint>>, Error> {
        let heatmap_of = |source: &Source| {
            let maps = source.maps.clone();
            self.heatmap.forward(maps, InputStatistics::Running)
        };
        let mut heatmaps = heatmap_of(source)?;
        if let Some(mirrored) = mirrored {
            let other = heatmap_of(mirrored)?.narrow(1, 0, 1).flip([3]);
            let response = (heatmaps.clone().narrow(1, 0, 1) + other) * 0.5;
            // A cell's offsets in the mirror image belong to another cell.
            heatmaps = Tensor::cat(vec![response, heatmaps.narrow(1, 1, 2)], 1);
        }
        let extractor = Extractor {
            instances,
            ..self.config.extractor
        };
        self.heatmap.extract(&extractor, heatmaps)
    }

    /// Labels the strongest `k` of each image's keypoints, wherever those come from: `locate` gets the images and the
    /// largest `k`, and returns as many keypoints of each image, strongest first.
    ///
    /// # Errors
    /// When there is not one `k` per image; as `locate` and [`Model::label`].
    pub fn find_at(
        &self,
        images: Tensor<4>,
        k: &[usize],
        locate: impl FnOnce(Tensor<4>, usize) -> Result<Vec<Vec<ScoredKeypoint>>, Error>,
    ) -> Result<Vec<Vec<Detection>>, Error> {
        self.patch_task().find(images, k, locate)
    }

    /// Boxes and labels of keypoints, as many for each image; an auto-encoder gives every box the label 0.
    ///
    /// # Shapes
    /// - `images`: `[batch, channels, height, width]`
    ///
    /// # Errors
    /// When images and keypoints do not belong together, or the classifier's output is not finite.
    pub fn label(
        &self,
        images: Tensor<4>,
        found: &[Vec<ScoredKeypoint>],
    ) -> Result<Vec<Vec<Detection>>, Error> {
        self.patch_task().label(images, found)
    }

    /// As [`PatchTask::labels`].
    pub(crate) fn labels(
        &self,
        foreground: Tensor<4>,
        keypoints: &[Vec<Keypoint>],
    ) -> Result<Vec<usize>, Error> {
        self.patch_task().labels(foreground, keypoints)
    }

    pub(crate) fn detection(&self, found: &ScoredKeypoint, label: usize) -> Detection {
        self.patch_task().detection(found, label)
    }

    fn patch_task(&self) -> PatchTask<'_> {
        PatchTask {
            config: &self.config,
            network: &self.task,
        }
    }
}

impl Finder for Model {
    fn channels(&self) -> usize {
        self.config.image_channels()
    }

    fn instances(&self) -> usize {
        self.config.extractor.instances
    }

    fn classes(&self) -> Option<usize> {
        self.config.task.classes()
    }

    fn is_at_most(&self) -> bool {
        self.config.backbone.is_some()
    }

    fn find_in_features(
        &self,
        features: Tensor<4>,
        k: &[usize],
    ) -> Result<Option<Vec<Vec<Detection>>>, Error> {
        let Some(extractor) = &self.features else {
            return Ok(None);
        };
        let maps = extractor.statistics.standardise(features)?;
        let source = self.feature_source(maps);
        Ok(Some(self.find_in_source(&source, None, k)?))
    }

    fn find(&self, images: Tensor<4>, k: &[usize]) -> Result<Vec<Vec<Detection>>, Error> {
        if self.config.backbone.is_some() {
            return self.find_in_photographs(images, k);
        }
        self.find_at(images, k, |images, most| self.locate(images, most))
    }

    fn find_at_least(
        &self,
        images: Tensor<4>,
        score: f32,
    ) -> Result<Option<Vec<Vec<Detection>>>, Error> {
        if self.config.backbone.is_some() {
            let k = vec![self.config.extractor.instances; images.dims()[0]];
            let mut found = self.find_in_photographs(images, &k)?;
            for image in &mut found {
                image.retain(|found| found.score >= score);
            }
            return Ok(Some(found));
        }
        let foreground = self.foreground(images.clone());
        let heatmaps = self.heatmap.forward(foreground, InputStatistics::Running)?;
        let levels = self.heatmap.levels();
        let selection = Selection::AtLeast(score);
        let extractor = &self.config.extractor;
        let found = extractor.extract_selected(heatmaps, levels, selection)?;
        let mut all = Vec::with_capacity(found.len());
        for (index, found) in found.into_iter().enumerate() {
            // Images differ in their numbers of keypoints.
            let detections = match found.is_empty() {
                true => Vec::new(),
                false => self
                    .label(images.clone().narrow(0, index, 1), &[found])?
                    .concat(),
            };
            all.push(detections);
        }
        Ok(Some(all))
    }

    fn find_large(
        &self,
        image: ImageView<'_>,
        selection: Selection,
        search: LargeSearch,
    ) -> Result<Option<Vec<Detection>>, Error> {
        if self.config.backbone.is_some() {
            return Ok(None);
        }
        search.find(self, image, selection).map(Some)
    }

    fn heatmap_large(
        &self,
        image: ImageView<'_>,
        search: LargeSearch,
    ) -> Result<Option<Vec<f32>>, Error> {
        if self.config.backbone.is_some() {
            return Ok(None);
        }
        search.heatmap(self, image).map(Some)
    }

    fn large_memory_bytes(&self, width_px: usize, height_px: usize, search: LargeSearch) -> u64 {
        match self.config.backbone {
            Some(_) => 0,
            None => search.memory_bytes(self, width_px, height_px),
        }
    }

    fn heatmap(&self, images: Tensor<4>) -> Result<Option<Tensor<4>>, Error> {
        let [_, _, height, width] = images.dims();
        let maps = self.source(images)?.maps;
        let heatmaps = self.heatmap.forward(maps, InputStatistics::Running)?;
        let response = self.heatmap.response(heatmaps);
        Ok(Some(resize(response, height, width)?))
    }

    fn redraw(
        &self,
        images: Tensor<4>,
        found: &[Vec<Detection>],
    ) -> Result<Option<Tensor<4>>, Error> {
        self.patch_task().redraw(images, found)
    }

    fn patches(
        &self,
        images: Tensor<4>,
        found: &[Vec<Detection>],
    ) -> Result<Option<Patches>, Error> {
        // Patches of features show nothing to people.
        if self.config.backbone.is_some() {
            return Ok(None);
        }
        self.patch_task().patches(images, found)
    }

    fn to_safetensors(&self) -> Result<Vec<u8>, Error> {
        let mut tensors = self.heatmap.detector.named_tensors(DETECTOR)?;
        tensors.extend(self.task.named_tensors(TASK)?);
        if let Some(features) = &self.features {
            tensors.extend(features.statistics.named_tensors());
        }
        Ok(safetensors::serialize(tensors, None)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_leaves_out_is_as_in_the_paper() {
        let file = r#"{ "task": { "classifier": { "classes": 10 } } }"#;
        let config: ModelConfig = serde_json::from_str(file).unwrap();
        let task = TaskNetwork::Classifier {
            encoder: EncoderConfig::paper(1),
            classes: 10,
        };
        assert_eq!(config, ModelConfig::paper(task));
        config.check().unwrap();
        let file = r#"{ "softmax": { "strength": 5.0 }, "task": { "autoencoder": {} } }"#;
        let config: ModelConfig = serde_json::from_str(file).unwrap();
        let softmax = LocalSoftmax {
            strength: 5.0,
            ..LocalSoftmax::paper()
        };
        assert_eq!((config.softmax, config.background), (softmax, 0.0));
        assert!(serde_json::from_str::<ModelConfig>("{}").is_err());
    }
}
