//! Exploration of the keypoints, so that finding is learned from nothing: Algorithm 1 with a keypoint stage that looks
//! beyond `E_K(H(I))`.
//!
//! While the task network knows nothing, the detector stays frozen ([`Evidence`]). From its release on, a pool of
//! candidate places is shown to the frozen task network in one forward, and places that lower the image's loss are
//! exchanged for the keypoints. The stages that follow do not change: the task network learns at the keypoints, and the
//! detector learns to put its maxima there. In the end the detector rests and the task network learns on ([`SettleConfig`]).

mod centring;
mod config;
mod evidence;
mod exchanges;
mod moment;
mod pool;
mod search;
mod votes;

pub use config::{
    CentringConfig, ExchangeConfig, ExplorationConfig, PoolConfig, ReleaseConfig, SettleConfig,
    TakeOffConfig,
};
pub use evidence::{Evidence, Verdict};
pub use moment::Moment;
pub use votes::{ChosenSet, ClassVotes, RedrawnVotes};

pub(super) use search::Search;
