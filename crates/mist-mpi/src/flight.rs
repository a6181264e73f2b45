//! One message on its way.

use mpi::point_to_point::{Message, Status};
use mpi::request::{Request, StaticScope};
use mpi::traits::{Destination, Equivalence};

/// A message that MPI reads or writes while this process does other things.
pub struct Flight {
    request: Option<Request<'static, [u8], StaticScope>>,
}

impl Flight {
    /// Sends a message.
    pub fn to(rank: &impl Destination, message: Vec<u8>, tag: i32) -> Self {
        // MPI owns the buffer until the message has landed.
        let buffer: &'static [u8] = Box::leak(message.into_boxed_slice());
        let request = rank.immediate_send_with_tag(StaticScope, buffer, tag);
        Self {
            request: Some(request),
        }
    }

    /// Receives a message that has been announced.
    pub fn of((message, status): (Message, Status)) -> Self {
        let length = status.count(u8::equivalent_datatype());
        let buffer = vec![0u8; usize::try_from(length).unwrap_or(0)];
        let buffer: &'static mut [u8] = Box::leak(buffer.into_boxed_slice());
        let request = message.immediate_matched_receive_into(StaticScope, buffer);
        Self {
            request: Some(request),
        }
    }

    /// The message, once MPI is done with it.
    pub fn landed(&mut self) -> Option<Vec<u8>> {
        match self.request.take()?.test_with_data() {
            Ok((_, buffer)) => {
                let buffer = std::ptr::from_ref(buffer).cast_mut();
                // SAFETY: the buffer was leaked from a box above, MPI has given it back, and nobody else knows it.
                Some(unsafe { Box::from_raw(buffer) }.into_vec())
            }
            Err(request) => {
                self.request = Some(request);
                None
            }
        }
    }

    /// Leaves a message to MPI for good.
    pub fn forget(mut self) {
        if self.landed().is_none() {
            std::mem::forget(self);
        }
    }
}
