//! Other methods of training, to compare with: one folder each.

mod cam;
mod channelwise;
mod esl16;
mod grid;
mod located;
mod supervised;
mod xie20;

pub use cam::{CamConfig, CamFinder, CamLearner};
pub use channelwise::ChannelwiseConfig;
pub use esl16::{
    Esl16Config, Esl16Finder, Esl16Learner, PresencePrior, binary_concrete_kl, gaussian_kl,
    lstm_cell,
};
pub use grid::GridConfig;
pub use supervised::{SupervisedConfig, SupervisedLearner};
pub use xie20::{Xie20Config, Xie20Learner};
