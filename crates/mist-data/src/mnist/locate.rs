//! Where MNIST may be.

use std::env;
use std::path::{Path, PathBuf};

use super::files;
use crate::error::{RequestError, Result};

/// Finds the directory that holds the four MNIST files.
///
/// Looks in `explicit` alone if given; else in `$MIST_DATA`, in `../shared/data` and in the user's
/// cache directory, each both as `<root>/mnist` and as `<root>` itself.
pub fn locate(explicit: Option<&Path>) -> Result<PathBuf> {
    match explicit {
        Some(root) => find(&[root.to_owned()]),
        None => {
            let mut roots: Vec<PathBuf> = named_directory("MIST_DATA").into_iter().collect();
            roots.push(PathBuf::from("../shared/data"));
            roots.extend(cache_root());
            find(&roots)
        }
    }
}

/// The user's cache directory for this program, if the environment tells one.
pub(super) fn cache_root() -> Option<PathBuf> {
    named_directory("XDG_CACHE_HOME")
        .or_else(|| named_directory("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("mist"))
}

fn named_directory(variable: &str) -> Option<PathBuf> {
    env::var_os(variable)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

fn find(roots: &[PathBuf]) -> Result<PathBuf> {
    let looked_in: Vec<PathBuf> = roots
        .iter()
        .flat_map(|root| [root.join("mnist"), root.clone()])
        .collect();
    match looked_in.iter().find(|directory| is_complete(directory)) {
        Some(directory) => Ok(directory.clone()),
        None => Err(RequestError::MnistNotFound { looked_in }.into()),
    }
}

fn is_complete(directory: &Path) -> bool {
    files::ALL
        .iter()
        .all(|file| directory.join(file.packed_name()).is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn put_files(directory: &Path) {
        fs::create_dir_all(directory).unwrap();
        for file in files::ALL {
            fs::write(directory.join(file.packed_name()), b"").unwrap();
        }
    }

    #[test]
    fn the_first_complete_directory_wins() {
        let root = tempfile::tempdir().unwrap();
        let [first, second, third] = ["a", "b", "c"].map(|name| root.path().join(name));
        put_files(&first.join("mnist"));
        fs::remove_file(first.join("mnist/t10k-labels-idx1-ubyte.gz")).unwrap();
        put_files(&second);
        put_files(&third.join("mnist"));
        let roots = [first.clone(), second.clone(), third.clone()];
        assert_eq!(find(&roots).unwrap(), second);
        assert_eq!(find(&[third.clone(), second]).unwrap(), third.join("mnist"));
    }

    #[test]
    fn an_explicit_directory_without_the_data_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let message = locate(Some(root.path())).unwrap_err().to_string();
        assert!(message.contains(&root.path().join("mnist").display().to_string()));
        assert!(message.contains("mist data fetch mnist"));
    }
}
