//! Other ways to train the same networks, to compare with.

mod supervised;

pub use supervised::SupervisedConfig;
