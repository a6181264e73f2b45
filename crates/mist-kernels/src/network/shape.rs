//! The size of one sample inside a network.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Channels, rows and columns of one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Channels (features, for a dense layer).
    pub channels: usize,
    /// Rows.
    pub height_px: usize,
    /// Columns.
    pub width_px: usize,
}

impl Shape {
    /// A sample of `channels` maps of `height_px` rows and `width_px` columns.
    pub fn new(channels: usize, height_px: usize, width_px: usize) -> Self {
        Self {
            channels,
            height_px,
            width_px,
        }
    }

    /// Values in one sample; `usize::MAX`, which no slice has, for more than fit into a `usize`.
    pub fn len(self) -> usize {
        self.channels
            .saturating_mul(self.height_px)
            .saturating_mul(self.width_px)
    }

    /// Whether the sample holds no value.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} channels of {} x {} px (width x height)",
            self.channels, self.width_px, self.height_px
        )
    }
}
