//! Output that is whole or absent: written aside, then renamed.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempDir};

use crate::error::{AtPath, Result};

/// What the parent directory of a path is called, also where the path has but one part.
pub(crate) fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => path.to_owned(),
    }
}

/// Writes a file under another name beside it and renames it.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let directory = parent(path);
    let mut builder = Builder::new();
    builder.prefix(".mist-").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(unix_mode(0o666));
    let mut staged = builder.tempfile_in(&directory).at("write in", &directory)?;
    staged.write_all(bytes).at("write", path)?;
    staged
        .persist(path)
        .map(drop)
        .map_err(|failed| failed.error)
        .at("write", path)
}

/// A directory beside `path`, to be filled and then renamed; it goes away if dropped.
pub(crate) fn sibling_directory(path: &Path) -> Result<TempDir> {
    let directory = parent(path);
    fs::create_dir_all(&directory).at("create", &directory)?;
    let mut builder = Builder::new();
    builder.prefix(".mist-").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(unix_mode(0o777));
    builder.tempdir_in(&directory).at("write in", &directory)
}

/// Temporary files are private by default; outputs get what the umask leaves.
#[cfg(unix)]
fn unix_mode(mode: u32) -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(mode)
}
