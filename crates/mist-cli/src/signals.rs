//! Signals that ask for an end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mist_lab::{Error, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Notes SIGINT, SIGTERM and SIGHUP, so that a training can save before it ends; the second of them ends it at once.
#[derive(Clone)]
pub struct Signals {
    seen: Arc<AtomicUsize>,
}

impl Signals {
    /// Listens from now on.
    pub fn listen() -> Result<Self> {
        let seen = Arc::new(AtomicUsize::new(0));
        let second = Arc::new(AtomicBool::new(false));
        let listen = |signal: i32| -> io::Result<()> {
            // In this order: the first signal must not see its own mark.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&second))?;
            flag::register(signal, Arc::clone(&second))?;
            let number = usize::try_from(signal).map_err(io::Error::other)?;
            flag::register_usize(signal, Arc::clone(&seen), number)?;
            Ok(())
        };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // Under `nohup` a training outlives its terminal.
            if signal == SIGHUP && is_ignored(SIGHUP) {
                continue;
            }
            listen(signal)
                .map_err(|error| Error::Failed(format!("cannot listen for signals: {error}")))?;
        }
        Ok(Self { seen })
    }

    /// The signal that came, if one did.
    pub fn seen(&self) -> Option<i32> {
        match self.seen.load(Ordering::Relaxed) {
            0 => None,
            // Only numbers of signals, which are small, are stored.
            number => i32::try_from(number).ok(),
        }
    }
}

/// Whether this process was started with a signal ignored, as far as the system tells.
fn is_ignored(signal: i32) -> bool {
    // Where there is no such file, a signal counts as not ignored.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
