//! The lifted optimisation: Algorithm 1 of the paper (section 3).
//!
//! Top-K selection has no gradient, so the keypoints become variables of their own. Each step updates, in turn, the task
//! network, the keypoints and the detector: the task loss moves the first two, and the detector learns to put its
//! maxima where the keypoints went.

mod assigned;
mod config;
mod exploration;
mod jitter;
mod learner;
mod stages;
mod start;
mod task;

pub use assigned::AssignedClassification;
pub use config::{
    HeatmapConfig, HeatmapLoss, JitterConfig, KeypointConfig, LabelLoss, LiftedConfig,
    ProposalConfig, StageOrder,
};
pub use exploration::{
    CentringConfig, ChosenSet, ClassVotes, Evidence, ExchangeConfig, ExplorationConfig, Moment,
    PoolConfig, RedrawnVotes, ReleaseConfig, SettleConfig, TakeOffConfig, Verdict,
};
pub use learner::LiftedLearner;
pub use stages::LiftedStep;
pub use task::{Classification, Reconstruction, Task};
