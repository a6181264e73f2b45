//! MNIST for tests, where it is present.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mist_data::{Digits, locate};

/// The directory of MNIST; without it a test is skipped, or fails if `MIST_REQUIRE_DATA` is 1.
pub fn directory() -> Option<PathBuf> {
    // Tests run in the crate's directory, programs in the checkout's.
    let beside_checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    match locate(None).or_else(|_| locate(Some(&beside_checkout))) {
        Ok(directory) => Some(directory),
        Err(error) if env::var_os("MIST_REQUIRE_DATA").is_some_and(|value| value == "1") => {
            panic!("{error}")
        }
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

#[allow(
    dead_code,
    reason = "each test binary compiles its own copy of this module"
)]
pub fn digits() -> Option<Arc<Digits>> {
    directory().map(|directory| Arc::new(Digits::open(&directory).unwrap()))
}
