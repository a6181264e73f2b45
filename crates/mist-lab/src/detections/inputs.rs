//! Which files are meant.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use mist_data::has_image_extension;
use walkdir::WalkDir;

use super::path_text;
use crate::error::{Error, Result};

/// The images that paths, folders and patterns stand for.
#[derive(Debug, Default)]
pub struct Inputs {
    /// In the order given; those of a folder in order of their names.
    pub files: Vec<PathBuf>,
    /// Folders that could not be read.
    pub failures: Vec<Error>,
    /// Folders without images.
    pub empty: Vec<PathBuf>,
}

/// Lists images: files as they are given, whatever they are called; every image below folders; what a pattern with `*`,
/// `?`, `[...]` or `**` matches, unless a file has that very name. A file that is not there is listed too: reading it
/// says what is wrong.
pub fn list_images(given: &[PathBuf]) -> Inputs {
    let mut inputs = Inputs::default();
    for path in given {
        if path.is_dir() {
            inputs.add_folder(path);
        } else if path.exists() || !inputs.add_matches(path) {
            inputs.files.push(path.clone());
        }
    }
    inputs
}

impl Inputs {
    fn add_folder(&mut self, folder: &Path) {
        let before = self.files.len() + self.failures.len();
        for entry in WalkDir::new(folder).follow_links(true).sort_by_file_name() {
            match entry {
                Ok(entry) if entry.file_type().is_dir() => {}
                Ok(entry) if has_image_extension(entry.path()) => {
                    self.files.push(entry.into_path());
                }
                Ok(_) => {}
                Err(error) => self.add_failure(folder, error),
            }
        }
        if self.files.len() + self.failures.len() == before {
            self.empty.push(folder.to_owned());
        }
    }

    fn add_failure(&mut self, folder: &Path, error: walkdir::Error) {
        // What a link back to a folder above would show is listed already.
        if error.loop_ancestor().is_some() {
            return;
        }
        let path = error.path().unwrap_or(folder).to_owned();
        // A link to nowhere that is not called like an image is none of ours.
        if path.is_symlink() && !has_image_extension(&path) {
            return;
        }
        let text = error.to_string();
        let source = error
            .into_io_error()
            .unwrap_or_else(|| std::io::Error::other(text));
        let action = "read";
        self.failures.push(Error::Io {
            action,
            path,
            source,
        });
    }

    /// Whether a path is a pattern that matches something.
    fn add_matches(&mut self, path: &Path) -> bool {
        let Some(pattern) = path.to_str().filter(|text| text.contains(['*', '?', '['])) else {
            return false;
        };
        // What is no pattern is a name, and what is wrong with it shows when it is read.
        let Ok(matches) = glob::glob(pattern) else {
            return false;
        };
        let before = self.files.len() + self.failures.len();
        for found in matches {
            match found {
                Ok(found) if found.is_dir() => {}
                Ok(found) => self.files.push(found),
                Err(error) => {
                    let path = error.path().to_owned();
                    let source = error.into();
                    let action = "read";
                    self.failures.push(Error::Io {
                        action,
                        path,
                        source,
                    });
                }
            }
        }
        self.files.len() + self.failures.len() > before
    }
}

/// Reads a list of paths, one per line; empty lines are left out.
///
/// # Errors
/// When the list cannot be read, or a path cannot be written on this system.
pub fn read_list(list: impl BufRead) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for line in list.split(b'\n') {
        let mut line = line.map_err(|source| Error::Io {
            action: "read the list of images from",
            path: PathBuf::from("standard input"),
            source,
        })?;
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if !line.is_empty() {
            paths.push(to_path(line)?);
        }
    }
    Ok(paths)
}

#[cfg(unix)]
fn to_path(bytes: Vec<u8>) -> Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Ok(std::ffi::OsString::from_vec(bytes).into())
}

#[cfg(not(unix))]
fn to_path(bytes: Vec<u8>) -> Result<PathBuf> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text.into()),
        Err(error) => Err(Error::Usage(format!("the list of images: {error}"))),
    }
}

/// Says that there is nothing to do.
pub(super) fn no_images(given: &[PathBuf]) -> Error {
    let given: Vec<String> = given.iter().take(3).map(|path| path_text(path)).collect();
    Error::Usage(match given.as_slice() {
        [] => "no images were given".to_owned(),
        given => format!("no images in {}", given.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn touch(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, b"").unwrap();
    }

    #[test]
    fn folders_are_walked_in_order_and_patterns_expanded() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in [
            "b.png",
            "a/2.JPG",
            "a/1.tif",
            "a/notes.txt",
            "c[1].png",
            "c1.png",
        ] {
            touch(&at(name));
        }
        fs::create_dir(at("none")).unwrap();
        let listed = list_images(&[at("b.png"), at("a"), at("none"), at("missing.png")]);
        let expected = [at("b.png"), at("a/1.tif"), at("a/2.JPG"), at("missing.png")];
        assert_eq!(listed.files, expected);
        assert_eq!(listed.empty, [at("none")]);
        let matched = list_images(&[at("**/*.[tp]*[fg]"), at("c[1].png"), at("no*.png")]);
        let expected = [
            at("a/1.tif"),
            at("b.png"),
            at("c1.png"),
            at("c[1].png"),
            at("c[1].png"),
            at("no*.png"),
        ];
        assert_eq!(matched.files, expected);
    }

    #[cfg(unix)]
    #[test]
    fn links_that_lead_back_are_followed_once() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        touch(&at("a/x.png"));
        touch(&at("other/y.png"));
        std::os::unix::fs::symlink(at("a"), at("a/again")).unwrap();
        std::os::unix::fs::symlink(at("other"), at("a/other")).unwrap();
        std::os::unix::fs::symlink(at("gone.png"), at("a/gone.png")).unwrap();
        let listed = list_images(&[at("a")]);
        assert_eq!(listed.files, [at("a/other/y.png"), at("a/x.png")]);
        assert_eq!(listed.failures.len(), 1, "{:?}", listed.failures);
        assert!(listed.failures[0].to_string().contains("gone.png"));
    }

    #[cfg(unix)]
    #[test]
    fn lists_may_have_any_names_and_line_ends() {
        use std::os::unix::ffi::OsStrExt;
        let paths = read_list(&b"a b.png\r\n\ncaf\xE9.png"[..]).unwrap();
        let bytes: Vec<&[u8]> = paths
            .iter()
            .map(|path| path.as_os_str().as_bytes())
            .collect();
        assert_eq!(bytes, [&b"a b.png"[..], b"caf\xE9.png"]);
    }
}
