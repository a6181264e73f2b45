//! Signals that ask for an end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};

/// Notes SIGINT and SIGTERM, so that a training can save before it ends.
#[derive(Clone)]
pub struct Signals {
    seen: Arc<AtomicUsize>,
}

impl Signals {
    /// Listens from now on; the same signal a second time ends the program at once.
    pub fn listen() -> Result<Self> {
        let seen = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM] {
            let number = usize::try_from(signal).unwrap_or_default();
            signal_hook::flag::register_usize(signal, Arc::clone(&seen), number)
                .context("cannot listen for signals")?;
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
