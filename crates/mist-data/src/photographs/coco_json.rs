//! Annotations of COCO: one JSON file for all images.

use std::collections::HashMap;

use mist_geometry::PixelBox;
use serde::Deserialize;

use super::prepare::{AnnotatedObject, AnnotatedPhoto};

/// COCO's names of VOC's classes, where they differ.
const RENAMED: [(&str, &str); 6] = [
    ("airplane", "aeroplane"),
    ("couch", "sofa"),
    ("dining table", "diningtable"),
    ("motorcycle", "motorbike"),
    ("potted plant", "pottedplant"),
    ("tv", "tvmonitor"),
];

#[derive(Deserialize)]
struct Instances {
    images: Vec<ImageEntry>,
    annotations: Vec<Annotation>,
    categories: Vec<Category>,
}

#[derive(Deserialize)]
struct ImageEntry {
    id: u64,
    file_name: String,
    width: f32,
    height: f32,
}

#[derive(Deserialize)]
struct Annotation {
    image_id: u64,
    category_id: u64,
    bbox: [f32; 4],
}

#[derive(Deserialize)]
struct Category {
    id: u64,
    name: String,
}

/// VOC's name of a class of COCO.
pub(super) fn voc_name(class: &str) -> &str {
    let renamed = RENAMED.iter().find(|(coco, _)| *coco == class);
    renamed.map_or(class, |(_, voc)| voc)
}

/// Reads all images; what is said of unknown images or classes is left out.
///
/// # Errors
/// When the text is not the JSON of COCO instances.
pub(super) fn read(text: &str) -> Result<Vec<AnnotatedPhoto>, String> {
    let file: Instances = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let names: HashMap<u64, String> = file
        .categories
        .into_iter()
        .map(|category| (category.id, voc_name(&category.name).to_owned()))
        .collect();
    let mut places = HashMap::new();
    let mut photos: Vec<AnnotatedPhoto> = Vec::with_capacity(file.images.len());
    for image in file.images {
        places.insert(image.id, photos.len());
        photos.push(AnnotatedPhoto {
            file: image.file_name,
            width_px: image.width,
            height_px: image.height,
            objects: Vec::new(),
        });
    }
    for annotation in file.annotations {
        let place = places.get(&annotation.image_id);
        let class = names.get(&annotation.category_id);
        if let (Some(&place), Some(class)) = (place, class) {
            let [x_px, y_px, width_px, height_px] = annotation.bbox;
            photos[place].objects.push(AnnotatedObject {
                class: class.clone(),
                bounds: PixelBox {
                    x_min_px: x_px,
                    y_min_px: y_px,
                    x_max_px: x_px + width_px,
                    y_max_px: y_px + height_px,
                },
            });
        }
    }
    Ok(photos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_go_to_their_images_and_classes_get_the_names_of_voc() {
        let text = r#"{"images":[{"id":9,"file_name":"a.jpg","width":80,"height":60}],
            "annotations":[{"image_id":9,"category_id":5,"bbox":[1,2,30,40]},{"image_id":8,"category_id":5,"bbox":[0,0,1,1]}],
            "categories":[{"id":5,"name":"airplane"}]}"#;
        let photos = read(text).unwrap();
        assert_eq!(photos.len(), 1);
        assert_eq!(photos[0].objects.len(), 1);
        assert_eq!(photos[0].objects[0].class, "aeroplane");
        assert_eq!(photos[0].objects[0].bounds.y_max_px, 42.0);
        assert!(read("{}").is_err());
    }
}
