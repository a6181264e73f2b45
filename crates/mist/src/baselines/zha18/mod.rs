//! Zha18: unsupervised landmarks (Zhang et al., 2018; paper, section 5 and appendix C.2).
//!
//! An hourglass gives every landmark a channel; the softmax over channels assigns pixels to landmarks or to the background. Landmarks are
//! concentrated, apart from each other, follow warps of the image, and a second hourglass redraws the image from them.

mod config;
mod finder;
mod landmarks;
mod learner;
mod networks;
mod warp;

pub use config::{WarpConfig, Zha18Config};
pub use finder::Zha18Finder;
pub use landmarks::{Landmarks, gaussian_maps, separation_loss};
pub use learner::Zha18Learner;
pub use warp::{ThinPlates, Warp};
