//! The file of a shard's results: a line of JSON about the whole, one for each input, and one at the end.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Lines, Write};
use std::path::{Path, PathBuf};

use mist::finder::Finder;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Shard;
use crate::detections::{DetectedImage, DetectionFormat, Outcome};
use crate::error::{AtPath, Error, Result};
use crate::run::whole_file::WholeFile;

/// What a shard is part of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::detections) struct ShardHeader {
    pub shard: Shard,
    pub format: DetectionFormat,
    pub class_names: Vec<String>,
    /// Which objects are looked for.
    pub selection: String,
    /// Side of the tiles of large images.
    pub tile_px: usize,
    /// Number of inputs of all shards.
    pub files: u64,
    /// Of the paths of all inputs.
    pub files_sha256: String,
    pub weights_sha256: String,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Header(ShardHeader),
    Found(DetectedImage),
    Failed { index: u64, reason: String },
    End(Outcome),
}

impl ShardHeader {
    /// What is known of the inputs and the model; the rest is left open.
    pub fn of_files(files: &[PathBuf], finder: &dyn Finder) -> Result<Self> {
        let mut digest = Sha256::new();
        for file in files {
            let bytes = file.as_os_str().as_encoded_bytes();
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        }
        Ok(Self {
            shard: Shard { index: 0, count: 1 },
            format: DetectionFormat::Json,
            class_names: Vec::new(),
            selection: String::new(),
            tile_px: 0,
            files: files.len() as u64,
            files_sha256: hexadecimal(&digest.finalize()),
            weights_sha256: hexadecimal(&Sha256::digest(finder.to_safetensors()?)),
        })
    }

    /// Whether both are parts of one detection.
    pub(super) fn belongs_to(&self, other: &Self) -> bool {
        let of_one_part = |header: &Self| Self {
            shard: Shard {
                index: 0,
                count: header.shard.count,
            },
            ..header.clone()
        };
        of_one_part(self) == of_one_part(other)
    }

    /// How this very shard ended, if it was done before; `None` if it was not.
    ///
    /// # Errors
    /// When its file is damaged, or of another detection.
    pub fn finished(&self, path: &Path) -> Result<Option<Outcome>> {
        let mut reader = match ShardReader::open(path) {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                return Ok(None);
            }
            opened => opened?,
        };
        if reader.header != *self {
            return Err(Error::Usage(format!(
                "{} is of other images, another model or other settings: remove it, or choose \
                 another --out",
                path.display()
            )));
        }
        loop {
            if let Line::End(outcome) = reader.next()? {
                return Ok(Some(outcome));
            }
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A shard's results under way; the file appears at the end.
pub(in crate::detections) struct ShardFile {
    file: WholeFile,
}

impl ShardFile {
    pub fn create(path: &Path, header: &ShardHeader) -> Result<Self> {
        let file = WholeFile::create(path)?;
        let mut shard = Self { file };
        shard.write(&Line::Header(header.clone()))?;
        Ok(shard)
    }

    pub fn found(&mut self, image: &DetectedImage) -> Result<()> {
        self.write(&Line::Found(image.clone()))
    }

    pub fn failed(&mut self, index: u64, reason: &str) -> Result<()> {
        let reason = reason.to_owned();
        self.write(&Line::Failed { index, reason })
    }

    pub fn finish(mut self, outcome: Outcome) -> Result<()> {
        self.write(&Line::End(outcome))?;
        self.file.commit()
    }

    fn write(&mut self, line: &Line) -> Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        let written = self.file.write_all(text.as_bytes());
        written.at("write", self.file.path())
    }
}

/// A shard's results, line by line.
pub(super) struct ShardReader {
    pub header: ShardHeader,
    pub path: PathBuf,
    lines: Lines<BufReader<File>>,
}

impl ShardReader {
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).at("open", path)?;
        let mut lines = BufReader::new(file).lines();
        match next_line(&mut lines, path)? {
            Line::Header(header) => Ok(Self {
                header,
                path: path.to_owned(),
                lines,
            }),
            _ => Err(Error::input(path, "is not the part of a detection")),
        }
    }

    /// The next line; the last one is [`Line::End`].
    pub fn next(&mut self) -> Result<Line> {
        next_line(&mut self.lines, &self.path)
    }
}

fn next_line(lines: &mut Lines<BufReader<File>>, path: &Path) -> Result<Line> {
    let Some(line) = lines.next() else {
        return Err(Error::input(path, "is truncated: run the shard again"));
    };
    let damaged = |error| {
        Error::input(
            path,
            format_args!("is damaged, or not the part of a detection: {error}"),
        )
    };
    match line {
        Ok(line) => serde_json::from_str(&line).map_err(damaged),
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            Err(Error::input(path, "is not the part of a detection"))
        }
        Err(error) => Err(error).at("read", path),
    }
}
