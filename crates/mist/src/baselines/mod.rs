//! Other methods of training, to compare with: one folder each.

mod cam;
mod supervised;
mod xie20;

pub use cam::{CamConfig, CamFinder, CamLearner};
pub use supervised::{SupervisedConfig, SupervisedLearner};
pub use xie20::{Xie20Config, Xie20Learner, soft_top_k, soft_top_k_by_sinkhorn, soft_top_k_masks};
