//! Buffers that are reused instead of being returned to the system: at tens of megabytes per map, fresh pages would cost
//! more than the arithmetic.

use std::sync::{Mutex, PoisonError};

use crate::buffer::Buffer;

/// Idle buffers.
#[derive(Default)]
pub(super) struct Pool {
    idle: Mutex<Vec<Buffer>>,
}

impl Pool {
    /// A buffer of at least `length` values with arbitrary contents.
    pub fn take(&self, length: usize) -> Buffer {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |buffer: &Buffer| (length..=length + length / 2).contains(&buffer.len());
        let found = idle.iter().position(fits);
        match found {
            Some(index) => idle.swap_remove(index),
            None => Buffer::zeros(length),
        }
    }

    /// A buffer of at least `length` zeros.
    pub fn zeros(&self, length: usize) -> Buffer {
        let mut buffer = self.take(length);
        buffer.fill(0.0);
        buffer
    }

    /// Takes a buffer back.
    pub fn give(&self, buffer: Buffer) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(buffer);
    }
}
