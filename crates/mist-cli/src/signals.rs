//! Signals that ask for an end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mist_lab::{Error, Result};
use signal_hook::consts::{SIGINT, SIGTERM};

/// Notes SIGINT and SIGTERM, so that a training can save before it ends.
#[derive(Clone)]
pub struct Signals {
    seen: Arc<AtomicUsize>,
}

impl Signals {
    /// Listens from now on.
    pub fn listen() -> Result<Self> {
        let seen = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM] {
            let number = usize::try_from(signal).unwrap_or_default();
            signal_hook::flag::register_usize(signal, Arc::clone(&seen), number)
                .map_err(|error| Error::Failed(format!("cannot listen for signals: {error}")))?;
        }
        Ok(Self { seen })
    }

    /// The signal that came, if one did.
    pub fn seen(&self) -> Option<i32> {
        match self.seen.load(Ordering::Relaxed) {
            0 => None,
            number => i32::try_from(number).ok(),
        }
    }
}
