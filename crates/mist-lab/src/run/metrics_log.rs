//! `metrics.jsonl`: a line per log step.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use mist::measurements::Measurements;
use serde::{Deserialize, Serialize};

use super::whole_file;
use crate::error::{AtPath, Result};

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Steps done.
    pub step: u64,
    /// Seconds of training so far, over all parts of a resumed run.
    pub secs: f64,
    /// Metrics on held-out images, on the lines that have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<Measurements>,
    /// Means of the losses and whatever else the method measures, since the line before.
    #[serde(flatten)]
    pub measurements: Measurements,
}

/// The file, open at its end.
#[derive(Debug)]
pub struct MetricsLog {
    path: PathBuf,
    file: File,
}

impl MetricsLog {
    /// Opens the file and drops lines after `step`: they are about to be written again.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn open(path: &Path, step: u64) -> Result<(Self, Vec<Line>)> {
        let mut kept = if path.exists() {
            read(path)?
        } else {
            Vec::new()
        };
        kept.retain(|line| line.step <= step);
        let mut text = Vec::new();
        for line in &kept {
            serde_json::to_writer(&mut text, line)?;
            text.push(b'\n');
        }
        whole_file::write(path, &text)?;
        let file = fs::OpenOptions::new().append(true).open(path);
        let log = Self {
            path: path.to_owned(),
            file: file.at("write", path)?,
        };
        Ok((log, kept))
    }

    /// Adds a line.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, line: &Line) -> Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.file.write_all(&text).at("write", &self.path)
    }
}

/// The whole lines of a file; a last line that a crash cut off is left out.
///
/// # Errors
/// When the file cannot be read.
pub fn read(path: &Path) -> Result<Vec<Line>> {
    let text = fs::read_to_string(path).at("read", path)?;
    let lines = text.lines().map(serde_json::from_str::<Line>);
    Ok(lines.map_while(std::result::Result::ok).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_after_the_checkpoint_are_written_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("metrics.jsonl");
        let line = |step| Line {
            step,
            secs: 0.5,
            validation: None,
            measurements: Measurements::new()
                .with("task_loss", 0.1)
                .with("heatmap_loss", 0.2),
        };
        let (mut log, kept) = MetricsLog::open(&path, 0).unwrap();
        assert!(kept.is_empty());
        for step in [10, 20, 30] {
            log.write(&line(step)).unwrap();
        }
        fs::write(
            &path,
            [fs::read(&path).unwrap(), b"{\"step\": 4".to_vec()].concat(),
        )
        .unwrap();
        let (mut log, kept) = MetricsLog::open(&path, 20).unwrap();
        assert_eq!(kept, [line(10), line(20)]);
        log.write(&line(30)).unwrap();
        assert_eq!(read(&path).unwrap(), [line(10), line(20), line(30)]);
    }
}
