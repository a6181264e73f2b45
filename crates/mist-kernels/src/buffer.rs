//! Memory for activations, aligned to cache lines.

use std::ops::{Deref, DerefMut};

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; 16]);

/// A growable run of f32 that starts on a cache line.
#[derive(Clone, Default)]
pub(crate) struct Buffer {
    lines: Vec<Line>,
    length: usize,
}

impl Buffer {
    /// `length` zeros.
    pub fn zeros(length: usize) -> Self {
        let mut buffer = Self::default();
        buffer.resize(length);
        buffer
    }

    /// Sets the length; new room is zero, old contents stay.
    pub fn resize(&mut self, length: usize) {
        self.lines.resize(length.div_ceil(16), Line([0.0; 16]));
        self.length = length;
    }

    /// Makes room for `length` values without keeping any.
    pub fn at_least(&mut self, length: usize) -> &mut [f32] {
        if self.length < length {
            self.resize(length);
        }
        &mut self[..length]
    }
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: a `Line` is sixteen f32 without padding, all of them initialised, and `resize` keeps `lines` at
        // `length / 16` lines, rounded up.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.length) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as in `deref`, and `self` is borrowed mutably for as long as the slice.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.length) }
    }
}
