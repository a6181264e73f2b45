//! Small convolutional networks as values, and their execution on the CPU.
//!
//! A [`Network`](network::Network) is a list of layers and nothing else: no weights, no device. From it follow
//! the shapes it produces, the names and places of its parameters in one flat vector, and the [`executor`]
//! that runs it, forward and back. The [`sampler`] cuts patches out of images and pastes them back. All `unsafe` and SIMD
//! code of the workspace lives here; the crate knows nothing of what the networks are used for.

mod buffer;
pub mod executor;
mod kernels;
pub mod network;
pub mod sampler;
pub mod simd;
mod tiles;
