//! `metrics.jsonl`: a line per log step.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use mist::measurements::Measurements;
use serde::{Deserialize, Serialize};

use super::whole_file;
use crate::error::{AtPath, Result};
use crate::observer::Observer;

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

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Every line that is whole.
    pub lines: Vec<Line>,
    /// How many lines are not.
    pub damaged: usize,
}

impl Curve {
    /// The lines; the observer is told how many are damaged.
    pub fn into_lines(self, path: &Path, observer: &mut dyn Observer) -> Vec<Line> {
        if self.damaged > 0 {
            observer.warning(&format!(
                "{}: damaged lines left out: {}",
                path.display(),
                self.damaged
            ));
        }
        self.lines
    }
}

/// The file, open at its end.
#[derive(Debug)]
pub struct MetricsLog {
    path: PathBuf,
    file: File,
}

impl MetricsLog {
    /// Opens the file and drops lines after `step`, since they are about to be written again, and damaged ones.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn open(path: &Path, step: u64) -> Result<(Self, Curve)> {
        let mut kept = match fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Curve::default(),
            bytes => parse(&bytes.at("read", path)?),
        };
        kept.lines.retain(|line| line.step <= step);
        let mut text = Vec::new();
        for line in &kept.lines {
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

/// The lines of a file.
///
/// # Errors
/// When the file cannot be read.
pub fn read(path: &Path) -> Result<Curve> {
    Ok(parse(&fs::read(path).at("read", path)?))
}

/// A last line that a crash cut off counts as not written; any other that cannot be read is damaged.
fn parse(bytes: &[u8]) -> Curve {
    let mut curve = Curve::default();
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        match serde_json::from_slice(line) {
            Ok(line) => curve.lines.push(line),
            Err(_) => curve.damaged += usize::from(line.ends_with(b"\n")),
        }
    }
    curve
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(step: u64) -> Line {
        Line {
            step,
            secs: 0.5,
            validation: None,
            measurements: Measurements::new()
                .with("task_loss", 0.1)
                .with("heatmap_loss", 0.2),
        }
    }

    fn text(lines: &[Line]) -> String {
        let text = |line| serde_json::to_string(line).unwrap() + "\n";
        lines.iter().map(text).collect()
    }

    #[test]
    fn lines_after_the_checkpoint_are_written_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("metrics.jsonl");
        let (mut log, kept) = MetricsLog::open(&path, 0).unwrap();
        assert_eq!(kept, Curve::default());
        for step in [10, 20, 30] {
            log.write(&line(step)).unwrap();
        }
        fs::write(
            &path,
            [fs::read(&path).unwrap(), b"{\"step\": 4".to_vec()].concat(),
        )
        .unwrap();
        let (mut log, kept) = MetricsLog::open(&path, 20).unwrap();
        assert_eq!((kept.lines, kept.damaged), (vec![line(10), line(20)], 0));
        log.write(&line(30)).unwrap();
        let lines = read(&path).unwrap().lines;
        assert_eq!(lines, [line(10), line(20), line(30)]);
    }

    #[test]
    fn a_damaged_line_costs_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("metrics.jsonl");
        let mut bytes = text(&[line(10)]).into_bytes();
        bytes.extend(b"{\"step\": 2\xff0, \"secs\"\n\n");
        bytes.extend(text(&[line(30), line(40)]).into_bytes());
        fs::write(&path, bytes).unwrap();
        let (_, kept) = MetricsLog::open(&path, 30).unwrap();
        assert_eq!((kept.lines, kept.damaged), (vec![line(10), line(30)], 2));
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            text(&[line(10), line(30)])
        );
    }

    #[test]
    fn numbers_are_read_as_they_were_written_to_the_bit() {
        for numerator in 0..=2304_u32 {
            let number = f64::from(numerator) / 2304.0;
            let validation = Measurements::new().with("both", number);
            let written = Line {
                secs: number * 1e5,
                validation: Some(validation),
                ..line(numerator.into())
            };
            let curve = parse(text(std::slice::from_ref(&written)).as_bytes());
            assert_eq!(curve.lines, [written], "{numerator} of 2304");
        }
    }
}
