//! Frozen backbones for photographs (paper, appendix A, "Backbone-based heatmap network").
//!
//! ResNet18, ResNet34 and MobileNetV2 up to stride 16, with the weights and the names of torchvision. Batch norms are
//! folded into the convolutions before them (ADR 19).

mod architecture;
mod config;
mod names;
mod statistics;
mod weights;

pub use architecture::Architecture;
pub use config::{BackboneConfig, HeadConfig, OffsetRange};
pub use statistics::FeatureStatistics;
pub use weights::NamedWeights;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use burn::tensor::{Tensor, TensorData};
use mist_kernels::executor::{Executor, InputStatistics, PreparedWeights};
use mist_kernels::network::{Network, Shape};
use mist_kernels::simd::{Isa, Precision};

use crate::Error;

/// Mean and standard deviation of ImageNet's channels, red, green and blue in `0..1`.
const IMAGENET: [(f32, f32); 3] = [(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)];

/// A backbone with its weights, which never change; copies share them.
#[derive(Clone)]
pub struct Backbone(Arc<Frozen>);

struct Frozen {
    architecture: Architecture,
    network: Network,
    parameters: Vec<f32>,
    /// By input size, the newest last.
    compiled: Mutex<Vec<Compiled>>,
}

#[derive(Clone)]
struct Compiled {
    input: Shape,
    executor: Arc<Executor>,
    weights: Arc<PreparedWeights>,
}

impl fmt::Debug for Backbone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Backbone")
            .field(&self.0.architecture)
            .finish()
    }
}

impl Backbone {
    /// Sizes of images whose executors are kept.
    const KEPT: usize = 2;

    /// A backbone with weights of torchvision's names.
    ///
    /// # Errors
    /// When a tensor is missing, of another shape or not finite.
    pub fn new(architecture: Architecture, weights: &NamedWeights) -> Result<Self, Error> {
        let network = architecture.network()?;
        let parameters = names::folded(architecture, &network, weights)?;
        Ok(Self(Arc::new(Frozen {
            architecture,
            network,
            parameters,
            compiled: Mutex::default(),
        })))
    }

    /// Which network it is.
    pub fn architecture(&self) -> Architecture {
        self.0.architecture
    }

    /// The features of images.
    ///
    /// # Shapes
    /// - `images`: `[batch, 3, height, width]`, red, green and blue in `0..1`
    /// - output: `[batch, channels, height / 16, width / 16]`, sides rounded up
    ///
    /// # Errors
    /// When there are not three channels, or the device cannot be read.
    pub fn features(&self, images: Tensor<4>) -> Result<Tensor<4>, Error> {
        let [batch, channels, height, width] = images.dims();
        let device = images.device();
        let mut values = images.detach().try_into_vec_as::<f32>()?;
        let input = Shape::new(channels, height, width);
        let compiled = self.compiled(input)?;
        let planes = values.chunks_exact_mut((height * width).max(1));
        for (plane, (mean, deviation)) in planes.zip(IMAGENET.iter().cycle()) {
            plane
                .iter_mut()
                .for_each(|value| *value = (*value - mean) / deviation);
        }
        let statistics = InputStatistics::Batch;
        let found = compiled
            .executor
            .forward_prepared(&compiled.weights, &values, statistics)?;
        let shape = compiled.executor.output_shape();
        let dims = [batch, shape.channels, shape.height_px, shape.width_px];
        Ok(Tensor::from_data(TensorData::new(found, dims), &device))
    }

    fn compiled(&self, input: Shape) -> Result<Compiled, Error> {
        let frozen = &self.0;
        // What is kept is put there whole, so that a panic elsewhere leaves nothing half done.
        let mut kept = frozen
            .compiled
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.iter().find(|known| known.input == input) {
            return Ok(known.clone());
        }
        // Features are kept and compared with torchvision's: they are in f32 on every machine.
        let executor = Executor::new(&frozen.network, input, Isa::selected()?, Precision::F32)?;
        let weights = executor.prepare(&frozen.parameters)?;
        let compiled = Compiled {
            input,
            executor: Arc::new(executor),
            weights: Arc::new(weights),
        };
        if kept.len() >= Self::KEPT {
            kept.remove(0);
        }
        kept.push(compiled.clone());
        Ok(compiled)
    }
}

/// A backbone, and the statistics that its features are standardised by: what a model sees of photographs.
#[derive(Clone, Debug)]
pub struct FeatureExtractor {
    /// The network.
    pub backbone: Backbone,
    /// Of the training images' features.
    pub statistics: FeatureStatistics,
}

impl FeatureExtractor {
    /// Standardised features of images; see [`Backbone::features`].
    ///
    /// # Errors
    /// As [`Backbone::features`].
    pub fn features(&self, images: Tensor<4>) -> Result<Tensor<4>, Error> {
        self.statistics.standardise(self.backbone.features(images)?)
    }
}
