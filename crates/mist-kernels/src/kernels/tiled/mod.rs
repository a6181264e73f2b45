//! Convolution as products of bf16 tiles with f32 sums.
//!
//! A strip of the source is laid out as one line of positions, rows and samples one after the other with zeros between
//! them. A tap is then a constant distance between positions, so that a tile of sixteen outputs reads sixteen
//! neighbouring positions at that distance, across the ends of rows and samples. Outputs that lie between rows are
//! computed and discarded.

mod convolution;
mod outputs;
mod pixels;
mod plane;
mod source;
mod weight_gradient;
mod weights;

pub(crate) use convolution::TileConvolution;
pub(crate) use pixels::Pixels;
pub(crate) use plane::Plane;
pub(crate) use weight_gradient::TileWeightGradient;
pub(crate) use weights::{gradient_at, pack};

/// Positions that a pass over the tiles takes at once: two tiles of outputs, or one of pairs.
const POSITIONS: usize = 32;
/// Values of a strip in bf16 that should stay in cache.
const STRIP_VALUES: usize = 48 * 1024;
