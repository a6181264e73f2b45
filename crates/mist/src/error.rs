//! What can go wrong in this library.

use std::borrow::Cow;

use burn::tensor::TensorReadError;
use mist_kernels::executor::ExecutorError;
use mist_kernels::network::NetworkError;
use mist_kernels::simd::{IsaError, PrecisionError};
use safetensors::SafeTensorError;

/// Every error of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A network description or its input.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A call of the CPU executor.
    #[error(transparent)]
    Executor(ExecutorError),
    /// The instruction set that the environment asks for.
    #[error(transparent)]
    Isa(#[from] IsaError),
    /// The precision that the environment or the caller asks for.
    #[error(transparent)]
    Precision(#[from] PrecisionError),
    /// A parameter vector of the wrong length.
    #[error("the network has {expected} parameters, {actual} were given")]
    ParameterCount {
        /// What the description asks for.
        expected: usize,
        /// What was given.
        actual: usize,
    },
    /// A weights file that is not safetensors.
    #[error("the weights are not a valid safetensors file: {0}")]
    WeightsFormat(#[from] SafeTensorError),
    /// A weights file without one of the network's tensors.
    #[error("the weights lack the tensor `{name}`: they belong to another network")]
    MissingTensor {
        /// Its name.
        name: String,
    },
    /// A weights file with a tensor that the network does not have.
    #[error("the weights hold the tensor `{name}`, which this network does not have")]
    UnknownTensor {
        /// Its name.
        name: String,
    },
    /// A tensor of another shape or type than the network's.
    #[error("the tensor `{name}` should be f32 of shape {expected:?}, the weights have {actual:?}")]
    TensorShape {
        /// Its name.
        name: String,
        /// The network's shape.
        expected: Vec<usize>,
        /// The file's shape.
        actual: Vec<usize>,
    },
    /// A tensor of a type that weights do not have.
    #[error("the tensor `{name}` is neither f32 nor f16")]
    TensorType {
        /// Its name.
        name: String,
    },
    /// A model that sees photographs through a backbone, without one.
    #[error("this model needs the weights of its backbone, `{weights}`")]
    NoBackbone {
        /// The file that its settings name.
        weights: String,
    },
    /// A tensor with NaN or infinite values, or with values whose squares are infinite.
    #[error("the tensor `{name}` holds values that are not finite, or too large to compute with")]
    NonFiniteTensor {
        /// Its name.
        name: String,
    },
    /// What a learner remembers that is no JSON.
    #[error("the state of a training cannot be written: {0}")]
    Memory(serde_json::Error),
    /// A tensor that could not be read back from its device.
    #[error("the device could not be read: {0}")]
    Read(#[from] TensorReadError),
    /// A setting outside its range.
    #[error("`{name}` must be {requirement}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// What it must be.
        requirement: Cow<'static, str>,
    },
    /// Tensors that do not belong together.
    #[error("{what}: expected {expected:?}, got {actual:?}")]
    Mismatch {
        /// What was compared.
        what: &'static str,
        /// Expected sizes.
        expected: Vec<usize>,
        /// Sizes given.
        actual: Vec<usize>,
    },
    /// More keypoints asked for than the heatmap has pixels.
    #[error("{requested} keypoints were asked for, the heatmap has only {pixels} pixels")]
    TooManyKeypoints {
        /// K.
        requested: usize,
        /// Pixels of the heatmap.
        pixels: usize,
    },
    /// A heatmap with NaN or infinite values.
    #[error("the heatmap of image {image} holds values that are not finite")]
    NonFiniteHeatmap {
        /// Index in the batch.
        image: usize,
    },
    /// A network that answers an image with NaN or infinite values.
    #[error(
        "the {network} network's output for image {image} is not finite: its weights are damaged or diverged"
    )]
    NonFiniteOutput {
        /// The network.
        network: &'static str,
        /// Index in the batch.
        image: usize,
    },
    /// A method that needs to know more about the images than the data set says.
    #[error("this method needs {what}, which this data set does not have")]
    NotKnown {
        /// What is missing.
        what: &'static str,
    },
    /// Settings for a network that the method does not train.
    #[error("this method has no network `{name}`; its networks are {known}")]
    UnknownNetwork {
        /// The name in the settings.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A network that no gradient reached.
    #[error("no gradient reached the network: it is frozen, or its graph was used before")]
    NoGradient,
    /// Another rank of a training that stopped, and says why.
    #[error("rank {rank} stopped: {message}")]
    RankStopped {
        /// Its number.
        rank: usize,
        /// What its process ended with.
        code: u8,
        /// What it said.
        message: String,
    },
    /// A rank that cannot be reached any more.
    #[error("{0}")]
    LostRank(String),
    /// A finder that computes elsewhere.
    #[error("{0}")]
    Finder(String),
    /// A device that is not compiled in or not present.
    #[error("the device `{name}` is not available: {reason}")]
    Device {
        /// Its name.
        name: &'static str,
        /// Why not.
        reason: &'static str,
    },
}

impl From<ExecutorError> for Error {
    fn from(error: ExecutorError) -> Self {
        match error {
            ExecutorError::Network(error) => Self::Network(error),
            ExecutorError::Isa(error) => Self::Isa(error),
            error @ (ExecutorError::Length { .. }
            | ExecutorError::ForwardOnly
            | ExecutorError::PartOfBatch
            | ExecutorError::ForeignTape) => Self::Executor(error),
        }
    }
}
