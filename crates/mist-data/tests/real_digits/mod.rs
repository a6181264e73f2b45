//! MNIST for tests, where it is present.

use std::path::PathBuf;
use std::sync::Arc;

use mist_data::{Digits, locate};

#[path = "../skipped/mod.rs"]
mod skipped;

/// The directory of MNIST; without it a test is skipped, or fails if `MIST_REQUIRE_DATA` is 1.
pub fn directory(test: &str) -> Option<PathBuf> {
    locate(None)
        .map_err(|error| skipped::skip(test, &error.to_string()))
        .ok()
}

#[allow(
    dead_code,
    reason = "each test binary compiles its own copy of this module"
)]
pub fn digits(test: &str) -> Option<Arc<Digits>> {
    directory(test).map(|directory| Arc::new(Digits::open(&directory).unwrap()))
}
