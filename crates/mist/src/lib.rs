//! MIST, the Multiple Instance Spatial Transformer (Angles, Jin, Kornblith, Tagliasacchi, Yi; CVPR 2021).
//!
//! Finds and reads every repeated object in an image without a box label. The modules carry the paper's
//! symbols: the heatmap network H is in [`heatmap`], the extractor E_K in [`extract`], the generative
//! model G in [`splat`], the sampler S and its inverse in [`sample`], the task networks T in [`networks`], the
//! losses in [`loss`], the lifted optimisation in [`lifted`], the measures of the tables in [`metrics`].

pub mod detect;
pub mod device;
mod error;
pub mod extract;
pub mod geometry;
pub mod heatmap;
pub mod keypoints;
pub mod lifted;
pub mod loss;
pub mod metrics;
pub mod networks;
pub mod sample;
pub mod splat;

pub use error::Error;
