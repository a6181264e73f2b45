//! Files that are whole or absent: written aside, synced, renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, IntoInnerError, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{AtPath, Result};

/// Writes a file so that a crash at any moment leaves the old one or the new one, never a part.
///
/// # Errors
/// When the directory cannot be written or the disk is full.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = WholeFile::create(path)?;
    file.write_all(bytes).at("write", path)?;
    file.commit()
}

/// A file that is written bit by bit and appears when it is whole; dropped before that, it leaves nothing behind.
#[derive(Debug)]
pub struct WholeFile {
    aside: BufWriter<NamedTempFile>,
    path: PathBuf,
}

impl WholeFile {
    /// Begins a file.
    ///
    /// # Errors
    /// When its directory cannot be written.
    pub fn create(path: &Path) -> Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".mist-").suffix(".tmp");
        // Temporary files are private by default; these get what the umask leaves.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let aside = builder.tempfile_in(directory_of(path)).at("write", path)?;
        Ok(Self {
            aside: BufWriter::new(aside),
            path: path.to_owned(),
        })
    }

    /// Where it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets it appear, instead of what was there before.
    ///
    /// # Errors
    /// When the disk is full or the directory cannot be written.
    pub fn commit(self) -> Result<()> {
        let Self { aside, path } = self;
        let persist = || {
            let aside = aside.into_inner().map_err(IntoInnerError::into_error)?;
            aside.as_file().sync_all()?;
            aside.persist(&path).map_err(|failed| failed.error)?;
            sync_directory(directory_of(&path))
        };
        persist().at("write", &path)
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.aside.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.aside.flush()
    }
}

fn directory_of(path: &Path) -> &Path {
    // A bare file name has the parent "", which names no directory.
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    parent.unwrap_or(Path::new("."))
}

/// Makes renames in a directory last.
///
/// # Errors
/// When the directory cannot be opened.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Removes what a killed process left beside its files.
///
/// # Errors
/// When the directory cannot be read or written.
pub fn remove_leftovers(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(".mist-") && name.ends_with(".tmp") {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
