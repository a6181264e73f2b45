//! Where MNIST may be.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::files;
use crate::error::{RequestError, Result};

/// Finds the directory that holds the four MNIST files.
///
/// Looks in `explicit` alone if given; else in `$MIST_DATA` and in the user's cache directory, each
/// both as `<root>/mnist` and as `<root>` itself.
pub fn locate(explicit: Option<&Path>) -> Result<PathBuf> {
    find(&data_roots(explicit))
}

/// Where data may be: in `explicit` alone if given; else in `$MIST_DATA` and in the user's cache directory.
pub(crate) fn data_roots(explicit: Option<&Path>) -> Vec<PathBuf> {
    match explicit {
        Some(root) => vec![root.to_owned()],
        None => roots(env::var_os("MIST_DATA"), cache_root()),
    }
}

fn roots(named: Option<OsString>, cache: Option<PathBuf>) -> Vec<PathBuf> {
    let named = named.filter(|value| !value.is_empty()).map(PathBuf::from);
    named.into_iter().chain(cache).collect()
}

/// The cache directory of this program, such as `~/.cache/mist`, if the user has a home.
pub fn cache_root() -> Option<PathBuf> {
    dirs::cache_dir().map(|cache| cache.join("mist"))
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
    fn the_named_directory_comes_before_the_cache() {
        let cache = || Some(PathBuf::from("/cache/mist"));
        let expected = ["/data", "/cache/mist"].map(PathBuf::from);
        assert_eq!(roots(Some("/data".into()), cache()), expected);
        assert_eq!(roots(Some("".into()), cache()), expected[1..]);
        assert!(roots(None, None).is_empty());
    }

    #[test]
    fn an_explicit_directory_without_the_data_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let message = locate(Some(root.path())).unwrap_err().to_string();
        assert!(message.contains(&root.path().join("mnist").display().to_string()));
        assert!(message.contains("mist data fetch mnist"));
    }
}
