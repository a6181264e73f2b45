//! Other methods of training, to compare with: one folder each.

mod cam;
mod esl16;
mod supervised;
mod xie20;

pub use cam::{CamConfig, CamFinder, CamLearner};
pub use esl16::{
    Esl16Config, Esl16Finder, Esl16Learner, PresencePrior, binary_concrete_kl, gaussian_kl,
    lstm_cell,
};
pub use supervised::{SupervisedConfig, SupervisedLearner};
pub use xie20::{Xie20Config, Xie20Learner, soft_top_k, soft_top_k_by_sinkhorn, soft_top_k_masks};
