//! What is timed: the official networks at the sizes of one training step, the step itself, and detection.

use std::fmt;

use burn::tensor::{Device, Distribution, Tensor};
use mist::backbone::Architecture;
use mist::finder::Finder;
use mist::lifted::LiftedConfig;
use mist::model::{Model, ModelConfig};
use mist::networks::{DetectorConfig, EncoderConfig, InputStatistics, NetworkModule, classifier};
use mist::training::{Batch, Optimisers, Progress, Setup};
use mist_kernels::executor::{self, Executor, ExecutorError};
use mist_kernels::network::{Network, Shape};
use mist_kernels::simd::{Isa, Precision};

use crate::error::{Error, Result};
use crate::recipe::Recipe;

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
/// Side of photographs.
const PHOTOGRAPH_PX: usize = 224;

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
    /// One step of `mnist-hard-grid`.
    GridStep,
    /// One step of `mnist-hard-channelwise`.
    ChannelwiseStep,
    /// One step of `mnist-hard-xie20`.
    Xie20Step,
    /// Features of one photograph of 224 x 224 px by ResNet18.
    ResNet18One,
    /// Features of 32 photographs by ResNet18.
    ResNet18Batch,
    /// Features of one photograph by MobileNetV2.
    MobileNetV2One,
    /// Features of 32 photographs by MobileNetV2.
    MobileNetV2Batch,
}

impl Workload {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::TrainStep,
        Self::DetectorFwd,
        Self::DetectorFwdbwd,
        Self::ClassifierFwd,
        Self::ClassifierFwdbwd,
        Self::Detect,
        Self::GridStep,
        Self::ChannelwiseStep,
        Self::Xie20Step,
        Self::ResNet18One,
        Self::ResNet18Batch,
        Self::MobileNetV2One,
        Self::MobileNetV2Batch,
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
            Self::GridStep => "grid_step",
            Self::ChannelwiseStep => "channelwise_step",
            Self::Xie20Step => "xie20_step",
            Self::ResNet18One => "resnet18_b1",
            Self::ResNet18Batch => "resnet18_b32",
            Self::MobileNetV2One => "mobilenet_v2_b1",
            Self::MobileNetV2Batch => "mobilenet_v2_b32",
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
            Self::GridStep => "One step of mnist-hard-grid on 16 images",
            Self::ChannelwiseStep => "One step of mnist-hard-channelwise on 16 images",
            Self::Xie20Step => "One step of mnist-hard-xie20 on 16 images",
            Self::ResNet18One => "Features of one photograph of 224 x 224 px by ResNet18",
            Self::ResNet18Batch => "Features of 32 photographs by ResNet18",
            Self::MobileNetV2One => "Features of one photograph by MobileNetV2",
            Self::MobileNetV2Batch => "Features of 32 photographs by MobileNetV2",
        }
    }

    /// Prepares the workload; each call of the result does it once.
    ///
    /// # Errors
    /// When the device fails.
    pub fn build(self, device: &Device) -> Result<Task> {
        let tracked = device.clone().autodiff();
        if let Some((architecture, batch)) = self.backbone() {
            return features(architecture, batch);
        }
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
            Self::GridStep => recipe_step("mnist-hard-grid", &tracked),
            Self::ChannelwiseStep => recipe_step("mnist-hard-channelwise", &tracked),
            Self::Xie20Step => recipe_step("mnist-hard-xie20", &tracked),
            _ => detect(device),
        }
    }

    /// Floating-point operations of one run, counted as direct convolution does them; nothing for mixed workloads.
    ///
    /// # Errors
    /// Never for the networks that are built in.
    pub fn operations(self) -> Result<Option<f64>> {
        if let Some((architecture, batch)) = self.backbone() {
            let shape = [batch, 3, PHOTOGRAPH_PX, PHOTOGRAPH_PX];
            let network = architecture.network()?;
            return Ok(Some(operations(&network, shape)?));
        }
        let [detector, classifier] = [
            operations(&detector_network()?, detector_shape())?,
            operations(&classifier_network()?, classifier_shape())?,
        ];
        Ok(match self {
            Self::DetectorFwd => Some(detector),
            Self::DetectorFwdbwd => Some(3.0 * detector),
            Self::ClassifierFwd => Some(classifier),
            Self::ClassifierFwdbwd => Some(3.0 * classifier),
            _ => None,
        })
    }

    /// The network and the batch, of workloads that are a backbone. They run in f32 on both sides: features that are kept
    /// must not depend on the machine.
    fn backbone(self) -> Option<(Architecture, usize)> {
        match self {
            Self::ResNet18One => Some((Architecture::ResNet18, 1)),
            Self::ResNet18Batch => Some((Architecture::ResNet18, BATCH)),
            Self::MobileNetV2One => Some((Architecture::MobileNetV2, 1)),
            Self::MobileNetV2Batch => Some((Architecture::MobileNetV2, BATCH)),
            _ => None,
        }
    }

    /// Whether the peer may take this one of its settings.
    pub(super) fn allows(self, setting: &str) -> bool {
        self.backbone().is_none() || setting.ends_with("-f32")
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

/// A backbone as [`mist::backbone::Backbone`] runs it, with other weights: they do not change what there is to do.
fn features(architecture: Architecture, batch: usize) -> Result<Task> {
    let device = Device::flex();
    let network = architecture.network()?;
    let module = NetworkModule::init(network.clone(), 0, &device)?;
    let input = Shape::new(3, PHOTOGRAPH_PX, PHOTOGRAPH_PX);
    let executor = Executor::new(&network, input, Isa::selected()?, Precision::F32);
    let failed = |error: ExecutorError| Error::Failed(error.to_string());
    let executor = executor.map_err(failed)?;
    let weights = executor
        .prepare(&module.parameter_values()?)
        .map_err(failed)?;
    let images = noise([batch, 3, PHOTOGRAPH_PX, PHOTOGRAPH_PX], &device);
    let images = images.try_into_vec_as::<f32>().map_err(mist::Error::from)?;
    Ok(Box::new(move || {
        let statistics = executor::InputStatistics::Batch;
        let found = executor.forward_prepared(&weights, &images, statistics);
        std::hint::black_box(found.map_err(failed)?);
        Ok(())
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
    let model = ModelConfig::official();
    let setup = Setup {
        features: None,
        model: &model,
        optimisers: &Optimisers::default(),
        seed: 0,
        weights: None,
        device,
    };
    let mut learner = LiftedConfig::official().start(setup)?;
    let batch = Batch {
        features: None,
        images: noise(detector_shape(), device),
        class_counts: Some(vec![vec![1; CLASSES]; BATCH]),
        truths: None,
    };
    let progress = Progress { step: 0, steps: 1 };
    let device = device.clone();
    Ok(Box::new(move || {
        std::hint::black_box(learner.lifted_step(&batch, progress)?);
        sync(&device)
    }))
}

/// One step of a built-in recipe on noise.
fn recipe_step(name: &str, device: &Device) -> Result<Task> {
    let recipe = Recipe::load(name, &[])?;
    learner_step(&recipe, IMAGE_PX, device)
}

/// One step of a recipe on noise of another size.
pub fn learner_step(recipe: &Recipe, side_px: usize, device: &Device) -> Result<Task> {
    let mut learner = recipe.method.method().learner(Setup {
        features: None,
        model: &recipe.model,
        optimisers: &recipe.optimiser,
        seed: 0,
        weights: None,
        device,
    })?;
    let channels = recipe.model.image_channels();
    let batch = Batch {
        features: None,
        images: noise([recipe.batch, channels, side_px, side_px], device),
        class_counts: Some(vec![vec![1; CLASSES]; recipe.batch]),
        truths: None,
    };
    let progress = Progress { step: 0, steps: 1 };
    let device = device.clone();
    Ok(Box::new(move || {
        std::hint::black_box(learner.step(&batch, progress)?);
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
