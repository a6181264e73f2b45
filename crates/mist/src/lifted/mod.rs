//! The lifted optimisation: Algorithm 1 of the paper (section 3).
//!
//! Top-K selection has no gradient, so the keypoints become variables of their own. Each step moves, in turn, the task
//! network, the keypoints and the detector: the task loss moves the first two, and the detector learns to put its
//! maxima where the keypoints went.

mod config;
mod jitter;
mod stages;
mod starts;
mod task;

pub use config::{HeatmapLoss, LiftedConfig, Seeds, StageOrder};
pub use stages::Step;
pub use task::{Classification, Reconstruction, Task};
