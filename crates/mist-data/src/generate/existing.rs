//! What may be overwritten: a set that was generated, and nothing else.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use serde::Deserialize;

use super::{ANNOTATIONS, IMAGES, IfExists};
use crate::coco::GENERATOR;
use crate::error::{AtPath, RequestError, Result};

/// The parts of `annotations.json` that tell who wrote what.
#[derive(Deserialize)]
struct Written {
    info: WrittenInfo,
    images: Vec<WrittenImage>,
}

#[derive(Deserialize)]
struct WrittenInfo {
    generator: String,
}

#[derive(Deserialize)]
struct WrittenImage {
    file_name: String,
}

/// Fails if there is something in a directory that must stay.
pub(super) fn check_free(directory: &Path, if_exists: IfExists) -> Result<()> {
    if !directory.exists() {
        return Ok(());
    }
    let names = list(directory)?;
    if names.is_empty() {
        return Ok(());
    }
    if if_exists == IfExists::Refuse {
        return Err(RequestError::OutputExists(directory.to_owned()).into());
    }
    let not_ours = |found: String| RequestError::NotOurs {
        path: directory.to_owned(),
        found,
    };
    if let Some(other) = names
        .iter()
        .find(|&name| name != ANNOTATIONS && name != IMAGES)
    {
        return Err(not_ours(other.clone()).into());
    }
    let written = written_images(&directory.join(ANNOTATIONS))
        .ok_or_else(|| not_ours(names.join(" and ")))?;
    let images = directory.join(IMAGES);
    if !images.exists() {
        return Ok(());
    }
    for name in list(&images)? {
        let listed = format!("{IMAGES}/{name}");
        if !written.contains(&listed) || !images.join(&name).is_file() {
            return Err(not_ours(listed).into());
        }
    }
    Ok(())
}

/// The images of a generated set; `None` for annotations from elsewhere, or none at all.
fn written_images(annotations: &Path) -> Option<HashSet<String>> {
    let file = File::open(annotations).ok()?;
    let written: Written = serde_json::from_reader(BufReader::new(file)).ok()?;
    (written.info.generator == GENERATOR).then(|| {
        written
            .images
            .into_iter()
            .map(|image| image.file_name)
            .collect()
    })
}

fn list(directory: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).at("list", directory)? {
        let name = entry.at("list", directory)?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
