//! The MNIST digits: finding, fetching, reading.

mod digits;
mod fetch;
mod files;
mod idx;
mod locate;

pub use digits::{Digit, Digits};
pub use fetch::{Fetched, default_destination, fetch_mnist, fetch_mnist_with};
pub(crate) use locate::data_roots;
pub use locate::{cache_root, locate};

/// Side of a digit's frame.
pub(crate) const FRAME_PX: usize = 28;

/// The ten digits.
pub(crate) const CLASSES: usize = 10;

#[cfg(test)]
pub(crate) use digits::tests::synthetic;
