//! Boxes in a JSON file of COCO: of all that it can say, images, categories and boxes.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::{Annotations, NamedBox, stem, table};
use crate::error::{AtPath, Error, Result, bad_input};

#[derive(Deserialize)]
struct File {
    images: Vec<Image>,
    annotations: Vec<Annotation>,
    categories: Vec<Category>,
}

#[derive(Deserialize)]
struct Image {
    id: u64,
    file_name: String,
}

#[derive(Deserialize)]
struct Annotation {
    image_id: u64,
    category_id: u64,
    /// Left, top, width, height.
    bbox: Vec<f32>,
    /// Whether it is a region with uncounted objects.
    #[serde(default)]
    iscrowd: u8,
}

#[derive(Deserialize)]
struct Category {
    id: u64,
    name: String,
}

pub(super) fn read(path: &Path) -> Result<(Annotations, Vec<Error>)> {
    let bytes = fs::read(path).at("read", path)?;
    let file: File = serde_json::from_slice(&bytes)
        .map_err(|error| bad_input(path, format!("is not a file of COCO: {error}")))?;
    let images: HashMap<u64, String> = file
        .images
        .into_iter()
        .map(|image| (image.id, stem(Path::new(&image.file_name))))
        .collect();
    let names: HashMap<u64, String> = file
        .categories
        .into_iter()
        .map(|category| (category.id, category.name))
        .collect();
    let mut annotations = Annotations::default();
    for image in images.values() {
        annotations.insert(image.clone(), None);
    }
    let mut faults = Vec::new();
    for (index, annotation) in file.annotations.into_iter().enumerate() {
        if annotation.iscrowd != 0 {
            continue;
        }
        let found = images
            .get(&annotation.image_id)
            .zip(names.get(&annotation.category_id))
            .zip(bounds(&annotation.bbox));
        let Some(((image, class), bounds)) = found else {
            let reason =
                format!("annotation {index} lacks an image, a category or the edges of a box");
            faults.push(bad_input(path, reason));
            continue;
        };
        let class = class.clone();
        annotations.insert(image.clone(), Some(NamedBox { class, bounds }));
    }
    Ok((annotations, faults))
}

fn bounds(left_top_size: &[f32]) -> Option<mist_geometry::PixelBox> {
    let &[left, top, width, height] = left_top_size else {
        return None;
    };
    table::bounds([left, top, left + width, top + height].map(Some))
}
