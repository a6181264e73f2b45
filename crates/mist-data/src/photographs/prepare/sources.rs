//! Photographs with annotations, as data sets keep them.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::super::VOC_CLASSES;
use super::rules::Object;
use crate::annotations::Annotations;
use crate::error::{AtPath, RequestError, Result, bad_input};
use crate::image::has_image_extension;

/// Names of COCO's that VOC writes otherwise.
const COCO_NAMES: [(&str, &str); 6] = [
    ("airplane", "aeroplane"),
    ("motorcycle", "motorbike"),
    ("dining table", "diningtable"),
    ("potted plant", "pottedplant"),
    ("couch", "sofa"),
    ("tv", "tvmonitor"),
];

/// A photograph and its objects of the 20 classes.
#[derive(Debug)]
pub(super) struct Photograph {
    /// Its file's name without ending.
    pub name: String,
    pub path: PathBuf,
    pub objects: Vec<Object>,
}

/// What a source lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Faults {
    pub without_annotations: usize,
    pub missing_images: usize,
    /// Of annotations.
    pub entries: usize,
}

/// The annotated photographs of a directory, by name.
#[derive(Debug)]
pub(super) struct Source {
    pub photographs: Vec<Photograph>,
    pub looked_at: usize,
    pub faults: Faults,
}

impl Source {
    pub fn open(root: &Path) -> Result<Self> {
        if !root.is_dir() {
            return Err(RequestError::NotAFolder(root.to_owned()).into());
        }
        let (annotations, entries) = annotations(root)?;
        let mut faults = Faults {
            entries,
            ..Faults::default()
        };
        let images = images(root)?;
        let mut annotated = HashSet::new();
        let mut photographs = Vec::new();
        for (name, path) in &images {
            let Some(boxes) = annotations.boxes(name) else {
                faults.without_annotations += 1;
                continue;
            };
            annotated.insert(name.as_str());
            let objects = boxes.filter_map(|(class, bounds)| {
                let label = label(class)?;
                Some(Object { label, bounds })
            });
            photographs.push(Photograph {
                name: name.clone(),
                path: path.clone(),
                objects: objects.collect(),
            });
        }
        let names = annotations.images();
        faults.missing_images = names.filter(|name| !annotated.contains(name)).count();
        Ok(Self {
            photographs,
            looked_at: images.len(),
            faults,
        })
    }
}

/// The label of a class by its name in VOC or COCO.
fn label(class: &str) -> Option<usize> {
    let renamed = COCO_NAMES.iter().find(|(coco, _)| *coco == class);
    let class = renamed.map_or(class, |(_, voc)| voc);
    VOC_CLASSES.iter().position(|known| *known == class)
}

/// All annotations of a data set, and how many entries could not be used.
fn annotations(root: &Path) -> Result<(Annotations, usize)> {
    let table = root.join("annotations.csv");
    if table.is_file() {
        let (annotations, faults) = Annotations::read_usable(&table)?;
        return Ok((annotations, faults.len()));
    }
    let of_voc = root.join("Annotations");
    // On systems that do not tell cases apart it is COCO's directory too.
    if holds(&of_voc, "xml") {
        let (annotations, faults) = Annotations::read_usable(&of_voc)?;
        return Ok((annotations, faults.len()));
    }
    let of_coco = root.join("annotations");
    let mut all = Annotations::default();
    let mut unusable = 0;
    for path in instances(&of_coco)? {
        let (annotations, faults) = Annotations::read_usable(&path)?;
        all.extend(annotations);
        unusable += faults.len();
    }
    if all.images().next().is_none() {
        let reason = "has no annotations: `Annotations/*.xml`, `annotations/instances*.json` or `annotations.csv`";
        return Err(bad_input(root, reason));
    }
    Ok((all, unusable))
}

fn holds(folder: &Path, ending: &str) -> bool {
    let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| entry.path().extension().is_some_and(|own| own == ending))
}

/// COCO's files of boxes, in order of their names.
fn instances(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).at("list", folder)? {
        let path = entry.at("list", folder)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("instances") && name.ends_with(".json") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Image files below a directory, by their names without endings.
fn images(root: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    for entry in WalkDir::new(root).sort_by_file_name() {
        let entry = entry.map_err(|error| bad_input(root, error.to_string()))?;
        // VOC has pictures of segments beside its photographs, by the same names.
        let of_segments = entry.path().components().any(|part| {
            part.as_os_str()
                .to_string_lossy()
                .starts_with("Segmentation")
        });
        if entry.file_type().is_file() && !of_segments && has_image_extension(entry.path()) {
            let name = entry.path().file_stem().unwrap_or_default();
            found.insert(name.to_string_lossy().into_owned(), entry.into_path());
        }
    }
    Ok(found)
}
