//! Descriptions of small convolutional networks and their execution on the CPU.
//!
//! A [`Network`](network::Network) is a list of layers, without weights or a device. It determines the shapes of all maps
//! and the names and offsets of the parameters in one flat vector. An [`Executor`](executor::Executor) runs it forward
//! and backward. The [`sampler`] resamples patches from images and pastes them into images. All `unsafe` and SIMD code
//! of the workspace is in this crate.

mod buffer;
pub mod executor;
mod kernels;
pub mod network;
pub mod sampler;
pub mod simd;
mod tiles;
