//! Files that are whole or absent: written aside, synced, renamed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::error::{AtPath, Result};

/// Writes a file so that a crash at any moment leaves the old one or the new one, never a part.
///
/// # Errors
/// When the directory cannot be written or the disk is full.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_aside(path, bytes).at("write", path)
}

fn write_aside(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A bare file name has the parent "", which names no directory.
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let directory = parent.unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".mist-").suffix(".tmp");
    // Temporary files are private by default; these get what the umask leaves.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut aside = builder.tempfile_in(directory)?;
    aside.write_all(bytes)?;
    aside.as_file().sync_all()?;
    aside.persist(path).map_err(|failed| failed.error)?;
    sync_directory(directory)
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
