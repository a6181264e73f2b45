//! What every way of training shares: optimisers, schedules and the state to go on from.

mod adam;
mod optimiser;
mod schedule;
mod state;
mod trainee;

pub use adam::{Adam, AdamConfig};
pub use optimiser::{Optimiser, OptimiserConfig};
pub use schedule::{Progress, Schedule};
pub use trainee::Trainee;
