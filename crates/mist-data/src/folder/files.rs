//! The files of a folder: which are images, which are damaged, which are held out.

use std::path::{Path, PathBuf};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use sha2::{Digest, Sha256};
use walkdir::WalkDir;

use crate::error::{AtPath, Error, InputError, RequestError, Result};
use crate::image::{DecodeLimits, ImageSize, has_image_extension, read_image};

/// One of so many files is held out.
const HELD_OUT_PERIOD: u8 = 5;
/// With fewer files none is held out.
const MIN_FILES_TO_HOLD_OUT: usize = 4;

/// The images of a folder at any depth, in the order of their paths.
#[derive(Debug)]
pub struct FolderFiles {
    root: PathBuf,
    files: Vec<File>,
    /// Files that cannot be read, and why.
    pub damaged: Vec<InputError>,
}

/// An image of a folder.
#[derive(Debug, Clone)]
struct File {
    /// Its path below the folder.
    path: PathBuf,
    bytes: u64,
    size: ImageSize,
    channels: usize,
}

impl FolderFiles {
    /// Lists a folder and decodes every image once.
    ///
    /// # Errors
    /// When it cannot be listed, has no images, or more than half of them are damaged.
    pub fn open(root: &Path) -> Result<Self> {
        if !root.is_dir() {
            let missing = RequestError::NotAFolder(root.to_owned());
            return Err(missing.into());
        }
        let (listed, mut damaged) = list(root)?;
        let read = |path: &PathBuf| -> Result<File> {
            let whole = root.join(path);
            let image = read_image(&whole, DecodeLimits::default())?;
            let metadata = std::fs::metadata(&whole).at("read", &whole)?;
            Ok(File {
                path: path.clone(),
                bytes: metadata.len(),
                size: image.size(),
                channels: image.channels,
            })
        };
        let read: Vec<Result<File>> = listed.par_iter().map(read).collect();
        let mut files = Vec::new();
        for (file, path) in read.into_iter().zip(&listed) {
            match file {
                Ok(file) => files.push(file),
                Err(error) => damaged.push(as_input(error, &root.join(path))),
            }
        }
        if files.is_empty() && damaged.is_empty() {
            return Err(RequestError::NoImages(root.to_owned()).into());
        }
        if damaged.len() > files.len() {
            let first = damaged.first().map(ToString::to_string);
            return Err(Error::Input(InputError {
                path: root.to_owned(),
                reason: format!(
                    "{} of {} images cannot be read, the first: {}; repair or remove them",
                    damaged.len(),
                    damaged.len() + files.len(),
                    first.unwrap_or_default()
                ),
            }));
        }
        Ok(Self {
            root: root.to_owned(),
            files,
            damaged,
        })
    }

    /// How many images can be read.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whole path of an image.
    pub fn path(&self, index: usize) -> PathBuf {
        self.root.join(&self.files[index].path)
    }

    /// Path of an image below the folder, with `/` between its parts.
    pub fn name(&self, index: usize) -> String {
        let parts = self.files[index].path.components();
        let parts: Vec<_> = parts
            .map(|part| part.as_os_str().to_string_lossy())
            .collect();
        parts.join("/")
    }

    /// Width and height of an image.
    pub fn size(&self, index: usize) -> ImageSize {
        self.files[index].size
    }

    /// Whether more than half of the images have colours.
    pub fn are_coloured(&self) -> bool {
        let coloured = self.files.iter().filter(|file| file.channels == 3).count();
        coloured * 2 > self.files.len()
    }

    /// The most objects in a window of an image, by its share of the mean area of the images.
    pub fn instances_in_window(
        &self,
        instances: usize,
        [width_px, height_px]: [usize; 2],
    ) -> usize {
        let areas = self.files.iter().map(|file| file.size);
        let pixels: usize = areas.map(|size| size.width_px * size.height_px).sum();
        let mean = pixels as f64 / self.files.len().max(1) as f64;
        let share = ((width_px * height_px) as f64 / mean.max(1.0)).min(1.0);
        ((instances as f64 * share).ceil() as usize).max(1)
    }

    /// SHA-256 of names and sizes of the usable files, in hexadecimal.
    pub fn contents(&self) -> String {
        let mut hash = Sha256::new();
        for file in &self.files {
            hash.update(file.path.as_os_str().as_encoded_bytes());
            hash.update([0]);
            hash.update(file.bytes.to_le_bytes());
        }
        let digest = hash.finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Divides some of the images into those that are trained on and those that are held out, by a hash of their paths:
    /// a file that is added moves no other. With fewer than four, all are both.
    pub fn divide(&self, indices: &[usize]) -> (Vec<usize>, Vec<usize>) {
        if indices.len() < MIN_FILES_TO_HOLD_OUT {
            return (indices.to_vec(), indices.to_vec());
        }
        let (mut held_out, mut trained): (Vec<usize>, Vec<usize>) = indices
            .iter()
            .partition(|&&index| is_held_out(&self.files[index].path));
        // Hashes of few files may all fall on one side.
        if held_out.is_empty() {
            held_out.extend(trained.pop());
        } else if trained.is_empty() {
            trained.extend(held_out.pop());
        }
        (trained, held_out)
    }
}

fn is_held_out(path: &Path) -> bool {
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    digest[0].is_multiple_of(HELD_OUT_PERIOD)
}

/// Images below a folder, as paths relative to it, and what could not be looked at.
fn list(root: &Path) -> Result<(Vec<PathBuf>, Vec<InputError>)> {
    let (mut files, mut unreadable) = (Vec::new(), Vec::new());
    for entry in WalkDir::new(root).follow_links(true).sort_by_file_name() {
        match entry {
            Ok(entry) if entry.file_type().is_file() && has_image_extension(entry.path()) => {
                let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
                files.push(relative.to_owned());
            }
            Ok(_) => {}
            // What a link back to a folder above would show is listed already.
            Err(error) if error.loop_ancestor().is_some() => {}
            Err(error) => {
                let path = error.path().unwrap_or(root).to_owned();
                if path == root {
                    let source = error.into_io_error();
                    let source = source.unwrap_or_else(|| std::io::Error::other("unreadable"));
                    return Err(source).at("list", root);
                }
                if path.is_dir() || has_image_extension(&path) {
                    let reason = error.to_string();
                    unreadable.push(InputError { path, reason });
                }
            }
        }
    }
    files.sort();
    Ok((files, unreadable))
}

fn as_input(error: Error, path: &Path) -> InputError {
    match error {
        Error::Input(error) => error,
        other => InputError {
            path: path.to_owned(),
            reason: other.to_string(),
        },
    }
}
