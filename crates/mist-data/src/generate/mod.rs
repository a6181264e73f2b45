//! Scene sets as files.

mod existing;

use std::fs;
use std::path::{Path, PathBuf};

use existing::check_free;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::coco::Annotations;
use crate::error::{AtPath, Cancelled, Result};
use crate::image::encode_png;
use crate::scene::Scene;
use crate::set::{SceneSet, render_range};
use crate::staging;

const ANNOTATIONS: &str = "annotations.json";
const IMAGES: &str = "images";

/// Scenes drawn and written at a time, a fraction of a second's work: in between, the caller may stop.
const CHUNK: u64 = 64;

/// What to do if the output directory holds something already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfExists {
    /// Fail, and leave it alone.
    Refuse,
    /// Replace it, provided that it holds nothing but what was generated before: annotations that
    /// name this program, and images that they list.
    Overwrite,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// The directory.
    pub directory: PathBuf,
    /// How many images.
    pub images: u64,
    /// How many instances in all of them.
    pub instances: u64,
}

/// Writes the first `count` scenes as PNG files with COCO annotations.
///
/// The directory is filled under another name and renamed at the end: it is whole or absent. The
/// same set gives the same bytes. As soon as `cancelled` says so, generation ends with
/// [`Cancelled`] and leaves nothing behind.
pub fn generate(
    set: &SceneSet,
    count: u64,
    directory: &Path,
    if_exists: IfExists,
    cancelled: &dyn Fn() -> bool,
) -> Result<Generated> {
    check_free(directory, if_exists)?;
    let work = staging::sibling_directory(directory)?;
    let new = work.path().join("new");
    let images = new.join(IMAGES);
    fs::create_dir_all(&images).at("create", &images)?;
    let mut annotations = Annotations::new(set);
    let mut instances = 0;
    for start in (0..count).step_by(CHUNK as usize) {
        if cancelled() {
            return Err(Cancelled.into());
        }
        let scenes = render_range(set, start..(start + CHUNK).min(count));
        let named: Vec<(u64, String, Scene)> = (start..)
            .zip(scenes)
            .map(|(index, scene)| (index, format!("{IMAGES}/{index:06}.png"), scene))
            .collect();
        named.par_iter().try_for_each(|(_, name, scene)| {
            let path = new.join(name);
            fs::write(&path, encode_png(&scene.image)?).at("write", &path)
        })?;
        for (index, name, scene) in named {
            instances += scene.instances.len() as u64;
            annotations.push(index, name, &scene);
        }
    }
    let path = new.join(ANNOTATIONS);
    let json = serde_json::to_vec(&annotations)
        .map_err(std::io::Error::from)
        .at("write", &path)?;
    fs::write(&path, json).at("write", &path)?;
    // Once more, as something may have come there meanwhile.
    check_free(directory, if_exists)?;
    swap(&new, directory, &work.path().join("old"))?;
    Ok(Generated {
        directory: directory.to_owned(),
        images: count,
        instances,
    })
}

/// Puts `new` in the place of `directory`, whose former contents stay if that fails.
fn swap(new: &Path, directory: &Path, old: &Path) -> Result<()> {
    let replaced = directory.exists();
    if replaced {
        fs::rename(directory, old).at("replace", directory)?;
    }
    let renamed = fs::rename(new, directory).at("rename to", directory);
    if renamed.is_err() && replaced {
        fs::rename(old, directory).at("restore", directory)?;
    }
    renamed
}
