//! MIST, the Multiple Instance Spatial Transformer (Angles, Jin, Kornblith, Tagliasacchi, Yi; CVPR 2021).
//!
//! Finds and reads every repeated object in an image without a box label. The modules carry the paper's
//! symbols: the heatmap network H is in [`heatmap`], the extractor E_K in [`extract`], the generative
//! model G in [`splat`], the sampler S and its inverse in [`sample`], the task networks T in [`networks`], the
//! losses in [`loss`], the lifted optimisation in [`lifted`], the metrics of the tables in [`metrics`]. [`model`] puts
//! H, E_K, S and T together behind the interface of everything that finds objects ([`finder`]); [`training`] holds what
//! the lifted optimisation and the [`baselines`] share. [`large`] searches images that the networks' memory has no room for.
//!
//! The ideal heatmap of two keypoints, and the keypoints found in it again:
//!
//! ```
//! use burn::tensor::Device;
//! use mist::extract::Extractor;
//! use mist::geometry::Keypoint;
//! use mist::heatmap::ScaleLevels;
//! use mist::splat::splat;
//!
//! # fn main() -> Result<(), mist::Error> {
//! let levels = ScaleLevels::lf_net();
//! let truth = vec![
//!     Keypoint { x_px: 10.5, y_px: 4.5, scale: 1.1 },
//!     Keypoint { x_px: 3.5, y_px: 12.5, scale: 0.8 },
//! ];
//! let heatmap = splat(&[truth.clone()], &levels, 16, 16, &Device::flex())?;
//! let found = Extractor::new(2).extract(heatmap, &levels)?;
//! for keypoint in truth {
//!     assert!(found[0].iter().any(|found| {
//!         found.keypoint.x_px == keypoint.x_px && (found.keypoint.scale - keypoint.scale).abs() < 1e-5
//!     }));
//! }
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

pub mod backbone;
pub mod baselines;
pub mod centres;
pub mod device;
mod error;
pub mod extract;
pub mod finder;
mod flex;
pub mod heatmap;
pub mod keypoints;
pub mod large;
pub mod lifted;
pub mod loss;
pub mod measurements;
pub mod metrics;
pub mod model;
pub mod networks;
pub mod proposals;
pub mod ranks;
pub mod sample;
mod settings;
pub mod splat;
pub mod training;

pub use error::Error;
#[doc(inline)]
pub use mist_geometry as geometry;
