//! The networks of the paper, described as values and run as burn modules.
//!
//! Each builder returns a [`mist_kernels::network::Network`]; [`NetworkModule`] adds weights and runs it on any
//! burn device.

mod autoencoder;
mod classifier;
mod detector;
mod encoder;
mod feature_classifier;
mod fused;
mod initialise;
mod module;
mod regions;
mod split;
mod style;
mod weights;

pub use autoencoder::{PatchValues, autoencoder};
pub use classifier::classifier;
pub use detector::DetectorConfig;
pub use encoder::EncoderConfig;
pub use feature_classifier::FeatureClassifier;
/// What convolutions on the CPU multiply; [`Precision::select`] sets it for the whole process.
pub use mist_kernels::simd::Precision;
pub use module::{InputStatistics, NetworkModule};
pub use regions::regions;
pub use style::BlockStyle;
pub(crate) use weights::{NamedTensor, finite_tensor, refuse_unknown};
