//! Other methods of training, to compare with: one folder each.

mod supervised;

pub use supervised::{SupervisedConfig, SupervisedLearner};
