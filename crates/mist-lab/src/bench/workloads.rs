//! What is timed: the official networks at the sizes of one training step, the step itself, and detection.

use std::fmt;

use burn::tensor::{Device, Distribution, Tensor};
use mist::finder::Finder;
use mist::lifted::LiftedConfig;
use mist::model::{Model, ModelConfig};
use mist::networks::{DetectorConfig, EncoderConfig, InputStatistics, NetworkModule, classifier};
use mist::ranks::Ranks;
use mist::training::{Batch, Optimisers, Progress, Setup};
use mist_kernels::network::{Network, Shape};

use crate::error::{Error, Result};

/// Images of a training batch.
const BATCH: usize = 32;
/// Instances per image.
const INSTANCES: usize = 9;
/// Images of the detection workload, and how many are taken at once.
const DETECTED: usize = 256;
const DETECTED_AT_ONCE: usize = 32;
const CLASSES: usize = 10;
/// Sides of images and patches.
const IMAGE_PX: usize = 80;
const PATCH_PX: usize = 32;

/// Does a workload once.
pub type Task = Box<dyn FnMut() -> Result<()>>;

/// One workload, the same on both sides of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// One official training step on 32 images.
    TrainStep,
    /// The detector on 32 images.
    DetectorFwd,
    /// The detector on 32 images, with the gradients of its weights.
    DetectorFwdbwd,
    /// The classifier on 288 patches.
    ClassifierFwd,
    /// The classifier on 288 patches, with the gradients of weights and patches.
    ClassifierFwdbwd,
    /// 256 images to boxes and labels.
    Detect,
}

impl Workload {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::TrainStep,
        Self::DetectorFwd,
        Self::DetectorFwdbwd,
        Self::ClassifierFwd,
        Self::ClassifierFwdbwd,
        Self::Detect,
    ];

    /// The name in result files and on the peer's side.
    pub fn name(self) -> &'static str {
        match self {
            Self::TrainStep => "train_step",
            Self::DetectorFwd => "detector_fwd",
            Self::DetectorFwdbwd => "detector_fwdbwd",
            Self::ClassifierFwd => "classifier_fwd",
            Self::ClassifierFwdbwd => "classifier_fwdbwd",
            Self::Detect => "detect",
        }
    }

    /// What it is, in a few words.
    pub fn description(self) -> &'static str {
        match self {
            Self::TrainStep => "One official training step on 32 images",
            Self::DetectorFwd => "The detector on 32 images",
            Self::DetectorFwdbwd => "The detector on 32 images, with the gradients of its weights",
            Self::ClassifierFwd => "The classifier on 288 patches",
            Self::ClassifierFwdbwd => {
                "The classifier on 288 patches, with the gradients of weights and patches"
            }
            Self::Detect => "256 images to boxes and labels",
        }
    }

    /// Prepares the workload; each call of the result does it once.
    ///
    /// # Errors
    /// When the device fails.
    pub fn build(self, device: &Device) -> Result<Task> {
        let tracked = device.clone().autodiff();
        match self {
            Self::TrainStep => train_step(&tracked),
            Self::DetectorFwd => forward(detector_network()?, detector_shape(), device),
            Self::DetectorFwdbwd => {
                with_gradients(detector_network()?, detector_shape(), false, &tracked)
            }
            Self::ClassifierFwd => forward(classifier_network()?, classifier_shape(), device),
            Self::ClassifierFwdbwd => {
                with_gradients(classifier_network()?, classifier_shape(), true, &tracked)
            }
            Self::Detect => detect(device),
        }
    }

    /// Floating-point operations of one run, counted as direct convolution does them; nothing for mixed workloads.
    ///
    /// # Errors
    /// Never for the networks that are built in.
    pub fn operations(self) -> Result<Option<f64>> {
        let [detector, classifier] = [
            operations(&detector_network()?, detector_shape())?,
            operations(&classifier_network()?, classifier_shape())?,
        ];
        Ok(match self {
            Self::DetectorFwd => Some(detector),
            Self::DetectorFwdbwd => Some(3.0 * detector),
            Self::ClassifierFwd => Some(classifier),
            Self::ClassifierFwdbwd => Some(3.0 * classifier),
            Self::TrainStep | Self::Detect => None,
        })
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn detector_network() -> Result<Network> {
    Ok(DetectorConfig::official().network()?)
}

fn classifier_network() -> Result<Network> {
    Ok(classifier(&EncoderConfig::official(), CLASSES)?)
}

fn detector_shape() -> [usize; 4] {
    [BATCH, 3, IMAGE_PX, IMAGE_PX]
}

fn classifier_shape() -> [usize; 4] {
    [BATCH * INSTANCES, 3, PATCH_PX, PATCH_PX]
}

fn operations(network: &Network, [batch, channels, height, width]: [usize; 4]) -> Result<f64> {
    let per_sample = network.multiplications(Shape::new(channels, height, width))?;
    Ok(2.0 * per_sample as f64 * batch as f64)
}

fn noise(shape: [usize; 4], device: &Device) -> Tensor<4> {
    Tensor::random(shape, Distribution::Default, device)
}

fn forward(network: Network, shape: [usize; 4], device: &Device) -> Result<Task> {
    let module = NetworkModule::init(network, 0, device)?;
    let images = noise(shape, device);
    let device = device.clone();
    Ok(Box::new(move || {
        std::hint::black_box(module.forward(images.clone(), InputStatistics::Batch)?);
        sync(&device)
    }))
}

fn with_gradients(
    network: Network,
    shape: [usize; 4],
    of_input: bool,
    device: &Device,
) -> Result<Task> {
    let module = NetworkModule::init(network, 0, device)?;
    let images = noise(shape, device).set_require_grad(of_input);
    let device = device.clone();
    Ok(Box::new(move || {
        let output = module.forward(images.clone(), InputStatistics::Batch)?;
        std::hint::black_box(output.sum().backward());
        sync(&device)
    }))
}

fn sync(device: &Device) -> Result<()> {
    let failed = |error| Error::Failed(format!("the device failed: {error:?}"));
    device.sync().map_err(failed)
}

fn train_step(device: &Device) -> Result<Task> {
    shared_step(device, &Ranks::default())
}

/// The part of a training step that is a rank's.
pub(super) fn shared_step(device: &Device, ranks: &Ranks) -> Result<Task> {
    let model = ModelConfig::official();
    let setup = Setup {
        features: None,
        model: &model,
        optimisers: &Optimisers::default(),
        seed: 0,
        weights: None,
        device,
        ranks,
    };
    let images = ranks.own_images(BATCH)?.len();
    let [_, channels, height, width] = detector_shape();
    let mut learner = LiftedConfig::official().start(setup)?;
    let batch = Batch {
        features: None,
        images: noise([images, channels, height, width], device),
        class_counts: Some(vec![vec![1; CLASSES]; images]),
        truths: None,
    };
    let progress = Progress { step: 0, steps: 1 };
    let device = device.clone();
    Ok(Box::new(move || {
        std::hint::black_box(learner.lifted_step(&batch, progress)?);
        sync(&device)
    }))
}

/// The official networks with untrained weights.
pub fn official_model(device: &Device) -> Result<Model> {
    Ok(Model::init(ModelConfig::official(), 0, device)?)
}

fn detect(device: &Device) -> Result<Task> {
    let model = official_model(device)?;
    let batches: Vec<Tensor<4>> = (0..DETECTED / DETECTED_AT_ONCE)
        .map(|_| noise([DETECTED_AT_ONCE, 3, IMAGE_PX, IMAGE_PX], device))
        .collect();
    Ok(Box::new(move || {
        for images in &batches {
            std::hint::black_box(model.find(images.clone(), &[INSTANCES; DETECTED_AT_ONCE])?);
        }
        Ok(())
    }))
}
