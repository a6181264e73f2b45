//! Who is told what happens while it happens: a terminal, a page, a notebook.

use mist::measurements::Measurements;

/// Hears what a long-running function does; what it does not care for it leaves out.
#[allow(unused_variables)]
pub trait Observer {
    /// What is being done, for people.
    fn message(&mut self, text: &str) {}

    /// Something is wrong, and the work goes on without it.
    fn warning(&mut self, text: &str) {}

    /// A part of the work failed, and the rest goes on; the whole will not count as a success.
    fn failure(&mut self, text: &str) {}

    /// A training begins after `step` of its `steps` steps.
    fn training_started(&mut self, step: u64, steps: u64) {}

    /// A training step was taken.
    fn progress(&mut self, progress: &TrainingProgress) {}

    /// The model was evaluated on held-out images after `step` steps.
    fn validated(&mut self, step: u64, metrics: &Measurements) {}

    /// A training took its last step, or was stopped.
    fn training_ended(&mut self) {}

    /// Work on so many images begins.
    fn images_started(&mut self, images: u64) {}

    /// So many of them are done, or failed.
    fn images_done(&mut self, done: u64) {}

    /// No more images will be done.
    fn images_ended(&mut self) {}
}

/// Where a training is.
#[derive(Clone, Copy, Debug)]
pub struct TrainingProgress<'a> {
    /// Steps done.
    pub step: u64,
    /// Steps in all.
    pub steps: u64,
    /// Losses of the step, the task's first.
    pub measurements: &'a Measurements,
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
