//! Text that goes to a stream as it comes, or to a file that is whole or absent.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{AtPath, Error, Result};
use crate::run::whole_file::WholeFile;

/// Where text goes.
pub(super) enum TextOutput {
    /// Readers see each result at once.
    Stream(BufWriter<Box<dyn Write>>),
    /// Readers see everything or nothing.
    File(WholeFile),
}

impl TextOutput {
    pub fn to_stream(stream: Box<dyn Write>) -> Self {
        Self::Stream(BufWriter::new(stream))
    }

    pub fn to_file(path: &Path) -> Result<Self> {
        Ok(Self::File(WholeFile::create(path)?))
    }

    pub fn write(&mut self, text: &str) -> Result<()> {
        match self {
            Self::Stream(stream) => stream.write_all(text.as_bytes()).map_err(not_written),
            Self::File(file) => {
                let written = file.write_all(text.as_bytes());
                written.at("write", file.path())
            }
        }
    }

    /// Shows what was written so far, where somebody may be looking.
    pub fn flush(&mut self) -> Result<()> {
        match self {
            Self::Stream(stream) => stream.flush().map_err(not_written),
            Self::File(_) => Ok(()),
        }
    }

    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        match self {
            Self::Stream(_) => Ok(()),
            Self::File(file) => file.commit(),
        }
    }
}

fn not_written(source: std::io::Error) -> Error {
    Error::Io {
        action: "write to",
        path: PathBuf::from("standard output"),
        source,
    }
}
