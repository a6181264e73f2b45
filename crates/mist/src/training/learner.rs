//! What learns.

use burn::tensor::Device;

use super::{Batch, LearnerState, Progress, Step};
use crate::Error;
use crate::finder::Finder;

/// Networks under training, with their optimisers: what the training loop knows of a method.
///
/// A step must depend on nothing but the state, the batch and the progress, so that a training that was interrupted
/// ends with the same weights.
pub trait Learner {
    /// One step on a batch.
    ///
    /// # Errors
    /// When the batch does not fit the networks, lacks what the method needs to know, or a value is not finite.
    fn step(&mut self, batch: &Batch, progress: Progress) -> Result<Step, Error>;

    /// Everything that the next step depends on: the named networks, their optimisers and averages.
    ///
    /// # Errors
    /// When the device cannot be read.
    fn state(&self) -> Result<LearnerState, Error>;

    /// Continues from a state of a learner of the same settings.
    ///
    /// # Errors
    /// When the state belongs to other networks.
    fn restore(&mut self, state: LearnerState) -> Result<(), Error>;

    /// What it has become so far, with averaged weights where an average is kept, on a device of choice.
    ///
    /// # Errors
    /// When the device cannot be read.
    fn finder(&self, device: &Device) -> Result<Box<dyn Finder>, Error>;
}
