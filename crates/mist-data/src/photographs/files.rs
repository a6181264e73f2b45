//! Files of data by name, in a directory or a tar archive.

use std::collections::HashMap;
use std::env;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::{AtPath, RequestError, Result, bad_input};
use crate::mnist::cache_root;

/// Largest file that is read from an archive.
const MAX_ENTRY_BYTES: u64 = 64 << 20;

/// A file of data: a path that exists; else looked for in `explicit` alone if given, else in `$MIST_DATA` and the user's
/// cache directory, both there and in the folder `within`.
///
/// # Errors
/// When it is in none of them.
pub fn locate_file(explicit: Option<&Path>, within: &str, name: &str) -> Result<PathBuf> {
    if Path::new(name).is_file() {
        return Ok(PathBuf::from(name));
    }
    locate(explicit, name, |root| {
        vec![root.join(within).join(name), root.join(name)]
    })
}

/// A data set: a directory of that name, or a tar archive.
///
/// # Errors
/// When there is neither.
pub fn locate_data(explicit: Option<&Path>, name: &str) -> Result<PathBuf> {
    locate(explicit, name, |root| {
        vec![root.join(name), root.join(format!("{name}.tar"))]
    })
}

fn locate(
    explicit: Option<&Path>,
    name: &str,
    places: impl Fn(&Path) -> Vec<PathBuf>,
) -> Result<PathBuf> {
    let roots: Vec<PathBuf> = match explicit {
        Some(root) => vec![root.to_owned()],
        None => {
            let named = env::var_os("MIST_DATA").filter(|value| !value.is_empty());
            named
                .map(PathBuf::from)
                .into_iter()
                .chain(cache_root())
                .collect()
        }
    };
    let looked_in: Vec<PathBuf> = roots.iter().flat_map(|root| places(root)).collect();
    match looked_in.iter().find(|path| path.exists()) {
        Some(path) => Ok(path.clone()),
        None => Err(RequestError::DataNotFound {
            name: name.to_owned(),
            looked_in,
        }
        .into()),
    }
}

/// The files of a directory or a tar archive, by name without folders, in memory as they are.
#[derive(Debug)]
pub(super) struct Files {
    pub root: PathBuf,
    files: HashMap<String, Vec<u8>>,
}

impl Files {
    /// Reads an archive, or a directory with `images/`.
    pub fn open(root: &Path) -> Result<Self> {
        let files = match root.is_dir() {
            true => of_directory(root)?,
            false => of_archive(root)?,
        };
        Ok(Self {
            root: root.to_owned(),
            files,
        })
    }

    /// The bytes of a file.
    pub fn get(&self, name: &str) -> Result<&[u8]> {
        let found = self.files.get(name).map(Vec::as_slice);
        found.ok_or_else(|| bad_input(&self.root, format!("there is no `{name}` in it")))
    }
}

fn of_directory(root: &Path) -> Result<HashMap<String, Vec<u8>>> {
    let mut files = HashMap::new();
    for folder in [root.to_owned(), root.join("images")] {
        for entry in fs::read_dir(&folder).at("read", &folder)? {
            let path = entry.at("read", &folder)?.path();
            if let Some(name) = path.file_name().and_then(|name| name.to_str())
                && path.is_file()
            {
                files.insert(name.to_owned(), fs::read(&path).at("read", &path)?);
            }
        }
    }
    Ok(files)
}

fn of_archive(root: &Path) -> Result<HashMap<String, Vec<u8>>> {
    let mut archive = tar::Archive::new(File::open(root).at("open", root)?);
    let damaged = |error: std::io::Error| bad_input(root, format!("is not a whole tar: {error}"));
    let mut files = HashMap::new();
    for entry in archive.entries().map_err(damaged)? {
        let entry = entry.map_err(damaged)?;
        let path = entry.path().map_err(damaged)?.into_owned();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        if entry.header().entry_type().is_file() {
            let mut bytes = Vec::new();
            let mut limited = entry.take(MAX_ENTRY_BYTES);
            limited.read_to_end(&mut bytes).map_err(damaged)?;
            files.insert(name.to_owned(), bytes);
        }
    }
    Ok(files)
}
