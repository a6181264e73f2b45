//! How ranks reach each other.

use std::fmt::Debug;

use crate::Error;

/// A way to send bytes between ranks; what they mean is not its business.
pub trait Communicator: Debug + Send + Sync {
    /// Number of this rank, from 0.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn size(&self) -> usize;

    /// Sends one message to each rank, and returns the one that each of them sent here; the message to oneself comes back.
    ///
    /// # Errors
    /// When a rank cannot be reached any more.
    fn exchange(&self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error>;
}

/// One rank without others.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

impl Communicator for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn exchange(&self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error> {
        Ok(messages)
    }
}
