//! `log.jsonl`: what happened to a run, and when.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde::Serialize;

/// What can happen to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Started,
    Resumed,
    Saved,
    OutOfTime,
    Interrupted,
    Diverged,
    Finished,
}

#[derive(Serialize)]
struct Entry {
    unix_secs: f64,
    event: Event,
    step: u64,
}

/// The file; it only grows.
pub struct EventLog {
    path: PathBuf,
}

impl EventLog {
    /// The log of a run.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Adds a line.
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
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}
