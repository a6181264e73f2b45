//! Files of a run that someone else may have put there.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::error::{AtPath, Error, Result};

/// More than any picture of a training takes.
const LARGEST_BYTES: u64 = 64 << 20;

/// Reads a regular file of bounded size.
///
/// Links may lead out of the run, and reading a pipe or a device may never end: they are refused.
///
/// # Errors
/// When it is no regular file, too large, or cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let kind = fs::symlink_metadata(path).at("read", path)?.file_type();
    if !kind.is_file() {
        return Err(Error::input(path, "not a regular file"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).at("read", path)?;
    // One byte more tells a file of the largest size from a larger one.
    let mut bounded = file.take(LARGEST_BYTES + 1);
    bounded.read_to_end(&mut bytes).at("read", path)?;
    if bytes.len() as u64 > LARGEST_BYTES {
        return Err(Error::input(path, "larger than 64 MB"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn links_and_folders_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("file"), b"bytes").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        assert_eq!(read(&at("file")).unwrap(), b"bytes");
        assert!(read(&at("link")).is_err());
        assert!(read(directory.path()).is_err());
    }

    #[test]
    fn files_that_are_too_large_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("large");
        let file = File::create(&path).unwrap();
        file.set_len(LARGEST_BYTES).unwrap();
        assert_eq!(read(&path).unwrap().len() as u64, LARGEST_BYTES);
        file.set_len(LARGEST_BYTES + 1).unwrap();
        assert!(read(&path).is_err());
    }
}
