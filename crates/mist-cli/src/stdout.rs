//! Data on standard output, for other programs to read.

use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use mist_lab::{Error, Result};

/// Writes text; a reader that has seen enough and closed the pipe is not an error.
pub fn write(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|source| Error::Io {
            action: "write to",
            path: PathBuf::from("standard output"),
            source,
        }),
    }
}

/// Whether a failure is that of a reader who has seen enough.
pub fn is_closed(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == ErrorKind::BrokenPipe)
}
