//! Annotations in the format of COCO.

use serde::Serialize;

use crate::scene::Scene;
use crate::set::SceneSet;

/// Marks annotations of ours, which may be overwritten.
pub(crate) const GENERATOR: &str = "mist data generate";

/// The whole `annotations.json`.
#[derive(Debug, Serialize)]
pub(crate) struct Annotations {
    #[serde(skip)]
    base_box_px: f32,
    info: Info,
    images: Vec<ImageEntry>,
    annotations: Vec<Annotation>,
    categories: Vec<Category>,
}

#[derive(Debug, Serialize)]
struct Info {
    generator: &'static str,
    description: &'static str,
    kind: &'static str,
    seed: u64,
    split: &'static str,
}

#[derive(Debug, Serialize)]
struct ImageEntry {
    id: u64,
    file_name: String,
    width: usize,
    height: usize,
}

#[derive(Debug, Serialize)]
struct Annotation {
    id: u64,
    image_id: u64,
    category_id: usize,
    bbox: [f32; 4],
    area: f32,
    iscrowd: u8,
    #[serde(skip_serializing_if = "is_one")]
    scale: f32,
    #[serde(skip_serializing_if = "is_one")]
    weight: f32,
}

#[derive(Debug, Serialize)]
struct Category {
    id: usize,
    name: &'static str,
}

fn is_one(value: &f32) -> bool {
    *value == 1.0
}

impl Annotations {
    pub fn new(set: &SceneSet) -> Self {
        let names = set.class_names().iter().enumerate();
        Self {
            base_box_px: set.base_box_px(),
            info: Info {
                generator: GENERATOR,
                description: set.kind().description(),
                kind: set.kind().name(),
                seed: set.seed(),
                split: set.split().name(),
            },
            images: Vec::new(),
            annotations: Vec::new(),
            categories: names.map(|(id, &name)| Category { id, name }).collect(),
        }
    }

    /// Adds the scene at an index.
    pub fn push(&mut self, index: u64, file_name: String, scene: &Scene) {
        self.images.push(ImageEntry {
            id: index,
            file_name,
            width: scene.image.width_px,
            height: scene.image.height_px,
        });
        for instance in &scene.instances {
            let bounds = instance.bounds;
            // The side itself: a difference of edges would carry their rounding.
            let side_px = self.base_box_px * instance.scale;
            self.annotations.push(Annotation {
                // From 1: the reference evaluator takes 0 for "no annotation".
                id: self.annotations.len() as u64 + 1,
                image_id: index,
                category_id: instance.label,
                bbox: [bounds.x_min_px, bounds.y_min_px, side_px, side_px],
                area: side_px * side_px,
                iscrowd: 0,
                scale: instance.scale,
                weight: instance.weight,
            });
        }
    }
}
