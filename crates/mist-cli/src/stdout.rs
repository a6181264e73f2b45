//! Data on standard output, for other programs to read.

use std::io::{ErrorKind, Write};

use anyhow::{Context, Result};

/// Writes text; a reader that has seen enough and closed the pipe is not an error.
pub fn write(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}
