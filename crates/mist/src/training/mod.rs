//! What every method of training shares: the interface of methods and learners, batches, optimisers, schedules and
//! the state that a training resumes from.

mod adam;
mod batch;
mod checkpoint;
mod learner;
mod method;
mod network_state;
mod optimiser;
mod random;
mod schedule;
mod step;
mod trained_model;

pub use adam::{Adam, AdamConfig};
pub use batch::Batch;
pub use checkpoint::{LearnerState, NetworkState};
pub use learner::Learner;
pub use method::{Method, Optimisers, Setup};
pub use optimiser::{Optimiser, OptimiserConfig};
pub(crate) use random::random_of_image;
pub use schedule::{Progress, Schedule};
pub use step::{Panel, PanelContent, Step};
pub use trained_model::TrainedModel;
