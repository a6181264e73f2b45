//! Other methods of training, to compare with: one folder each.

mod cam;
mod channelwise;
mod esl16;
mod grid;
mod located;
mod named_networks;
mod noise;
mod supervised;
mod xie20;
mod zha18;

pub use cam::{CamConfig, CamFinder, CamLearner};
pub use channelwise::ChannelwiseConfig;
pub use esl16::{
    Esl16Config, Esl16Finder, Esl16Learner, PresencePrior, binary_concrete_kl, gaussian_kl,
    lstm_cell,
};
pub use grid::GridConfig;
pub use supervised::{SupervisedConfig, SupervisedLearner};
pub use xie20::{Xie20Config, Xie20Learner};
pub use zha18::{
    Landmarks, ThinPlates, Warp, WarpConfig, Zha18Config, Zha18Finder, Zha18Learner, gaussian_maps,
    separation_loss,
};
