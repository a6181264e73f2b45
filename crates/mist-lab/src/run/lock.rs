//! One training at a time writes into a run.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use crate::error::{AtPath, Error, Result};
use crate::observer::Observer;

const LOCK: &str = "lock";

/// Held while a run is written to; the system releases it however the process ends.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
}

impl RunLock {
    /// Takes the lock of the run in a directory.
    ///
    /// Where the file system has no locks, the observer is warned and the run is not protected.
    ///
    /// # Errors
    /// When another process holds it.
    pub fn acquire(root: &Path, observer: &mut dyn Observer) -> Result<Self> {
        let path = root.join(LOCK);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .at("open", &path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Usage(format!(
                    "the run {} is being trained by another process; wait until it ends, or choose another --out",
                    root.display()
                )));
            }
            Err(TryLockError::Error(error)) => observer.warning(&format!(
                "{} cannot be locked ({error}): do not train this run twice at once",
                path.display()
            )),
        }
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fault, Silent};

    #[test]
    fn a_second_lock_is_refused_until_the_first_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let first = RunLock::acquire(directory.path(), &mut Silent).unwrap();
        let error = RunLock::acquire(directory.path(), &mut Silent).unwrap_err();
        assert_eq!(error.fault(), Fault::Usage);
        assert!(error.to_string().contains("another process"));
        drop(first);
        RunLock::acquire(directory.path(), &mut Silent).unwrap();
    }
}
