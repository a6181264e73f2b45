//! Run directories: what a training leaves behind, and how it goes on.

pub mod checkpoint;
pub mod directory;
pub mod event_log;
pub mod lock;
pub mod memory;
pub mod metrics_log;
pub mod regular_file;
pub mod sample_sheet;
pub mod tensorboard;
pub mod whole_file;
