//! Other methods of training, to compare with: one folder each.

mod cam;
mod channelwise;
mod grid;
mod located;
mod supervised;
mod xie20;

pub use cam::{CamConfig, CamFinder, CamLearner};
pub use channelwise::ChannelwiseConfig;
pub use grid::GridConfig;
pub use supervised::{SupervisedConfig, SupervisedLearner};
pub use xie20::{Xie20Config, Xie20Learner};
