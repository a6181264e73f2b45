//! The inner loops, each written once over [`Vector`](crate::simd::Vector).
//!
//! Maps are `[sample][row][column][channel]` with channels padded to a multiple of [`CHANNEL_STEP`]; padded channels
//! are zero everywhere.

pub(crate) mod depthwise;
pub(crate) mod direct;
pub(crate) mod elementwise;
pub(crate) mod norm;
pub(crate) mod on_load;
pub(crate) mod outer;
pub(crate) mod pool;
pub(crate) mod run;
pub(crate) mod tiled;
pub(crate) mod winograd;

/// Channels are padded to a multiple of this.
pub(crate) const CHANNEL_STEP: usize = 8;

/// A channel count with its padding.
pub(crate) fn padded(channels: usize) -> usize {
    channels.next_multiple_of(CHANNEL_STEP)
}
