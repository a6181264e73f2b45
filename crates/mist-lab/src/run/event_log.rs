//! `log.jsonl`: what happened to a run, and when.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::error::{AtPath, Result};

/// What can happen to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The first step is about to be taken.
    Started,
    /// It continues from a checkpoint.
    Resumed,
    /// A checkpoint was written.
    Saved,
    /// Its time was used up.
    OutOfTime,
    /// A signal stopped it.
    Interrupted,
    /// Its loss or weights are not finite any more.
    Diverged,
    /// All steps are taken.
    Finished,
}

#[derive(Serialize)]
struct Entry {
    unix_secs: f64,
    event: Event,
    step: u64,
}

/// The file; it only grows.
#[derive(Debug)]
pub struct EventLog {
    path: PathBuf,
}

impl EventLog {
    /// The log of a run.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Adds a line.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, event: Event, step: u64) -> Result<()> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let entry = Entry {
            unix_secs: since.map_or(0.0, |since| since.as_secs_f64()),
            event,
            step,
        };
        let mut line = serde_json::to_vec(&entry)?;
        line.push(b'\n');
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path);
        file.and_then(|mut file| file.write_all(&line))
            .at("write", &self.path)
    }
}
