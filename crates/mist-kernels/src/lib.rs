//! Small convolutional networks as values.
//!
//! A [`Network`](network::Network) is a list of layers and nothing else: no weights, no device. From it follow
//! the shapes it produces, the names and places of its parameters in one flat vector, and the executors
//! that run it. This crate knows nothing of what the networks are used for.

mod buffer;
pub mod executor;
mod kernels;
pub mod network;
pub mod sampler;
pub mod simd;
