//! Run directories: what a training leaves behind, and how it is resumed.

pub mod checkpoint;
pub mod directory;
pub mod event_log;
pub mod lock;
pub mod memory;
pub mod metrics_log;
pub mod regular_file;
pub mod tensorboard;
pub mod whole_file;
