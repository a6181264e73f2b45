//! Detections as other programs want them.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use mist::geometry::Detection;
use mist::metrics::ImageResult;
use mist::model::TaskNetwork;
use mist_data::{Captions, Instance, Scene, SceneSet, contact_sheet, write_png};
use serde::Serialize;
use serde_json::json;

use crate::cli::DetectionFormat;

/// What was found in one file.
pub struct DetectedImage {
    pub file: String,
    pub width_px: usize,
    pub height_px: usize,
    pub detections: Vec<Detection>,
}

#[derive(Serialize)]
struct Found<'a> {
    /// Left, top, width, height in pixels.
    bbox: [f32; 4],
    label: usize,
    name: &'a str,
    score: f32,
}

/// Writes everything in one format.
pub fn to_text(images: &[DetectedImage], names: &[String], format: DetectionFormat) -> String {
    match format {
        DetectionFormat::Json => to_json(images, names),
        DetectionFormat::Csv => to_csv(images, names),
        DetectionFormat::Coco => to_coco(images, names),
    }
}

fn found<'a>(detection: &Detection, names: &'a [String]) -> Found<'a> {
    Found {
        bbox: bbox(detection),
        label: detection.label,
        name: names.get(detection.label).map_or("", String::as_str),
        score: detection.score,
    }
}

fn bbox(detection: &Detection) -> [f32; 4] {
    let bounds = detection.bounds;
    [
        bounds.x_min_px,
        bounds.y_min_px,
        bounds.x_max_px - bounds.x_min_px,
        bounds.y_max_px - bounds.y_min_px,
    ]
}

fn to_json(images: &[DetectedImage], names: &[String]) -> String {
    let images: Vec<_> = images
        .iter()
        .map(|image| {
            json!({
                "file": image.file,
                "width": image.width_px,
                "height": image.height_px,
                "detections": image.detections.iter().map(|d| found(d, names)).collect::<Vec<_>>(),
            })
        })
        .collect();
    format!("{:#}\n", serde_json::Value::from(images))
}

fn to_csv(images: &[DetectedImage], names: &[String]) -> String {
    let mut text = String::from("file,left,top,width,height,label,name,score\n");
    for image in images {
        for detection in &image.detections {
            let found = found(detection, names);
            let [left, top, width, height] = found.bbox;
            let (file, name) = (quoted(&image.file), quoted(found.name));
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{file},{left},{top},{width},{height},{},{name},{}",
                found.label, found.score
            );
        }
    }
    text
}

/// A CSV field, in quotes where it needs them.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

fn to_coco(images: &[DetectedImage], names: &[String]) -> String {
    let mut annotations = Vec::new();
    for (image_id, image) in images.iter().enumerate() {
        for detection in &image.detections {
            let bbox = bbox(detection);
            annotations.push(json!({
                "id": annotations.len() + 1,
                "image_id": image_id,
                "category_id": detection.label,
                "bbox": bbox,
                "area": bbox[2] * bbox[3],
                "iscrowd": 0,
                "score": detection.score,
            }));
        }
    }
    let listed = images.iter().enumerate().map(|(index, image)| {
        json!({
            "id": index,
            "file_name": image.file,
            "width": image.width_px,
            "height": image.height_px,
        })
    });
    let categories = names
        .iter()
        .enumerate()
        .map(|(label, name)| json!({"id": label, "name": name}));
    let whole = json!({
        "images": listed.collect::<Vec<_>>(),
        "categories": categories.collect::<Vec<_>>(),
        "annotations": annotations,
    });
    format!("{whole:#}\n")
}

/// A detection in the form that contact sheets draw.
pub fn as_instance(detection: &Detection) -> Instance {
    Instance {
        bounds: detection.bounds,
        label: detection.label,
        scale: 1.0,
        weight: 1.0,
    }
}

/// Scenes on a sheet, how many in a row, and how much they are enlarged.
const SHOWN: usize = 12;
const COLUMNS: usize = 4;
const ZOOM: usize = 3;

/// What the boxes of a model's detections say: an auto-encoder knows no classes.
pub fn captions(task: &TaskNetwork) -> Captions {
    match task {
        TaskNetwork::Classifier { .. } => Captions::Labels,
        TaskNetwork::Autoencoder { .. } => Captions::None,
    }
}

/// Draws what was found in the first scenes of a set.
pub fn write_sheet(
    path: &Path,
    set: &SceneSet,
    results: &[ImageResult],
    task: &TaskNetwork,
) -> Result<()> {
    let shown: Vec<Scene> = results
        .iter()
        .take(SHOWN)
        .enumerate()
        .map(|(index, result)| Scene {
            image: set.scene(index as u64).image,
            instances: result.detections.iter().map(as_instance).collect(),
        })
        .collect();
    write_png(path, &contact_sheet(&shown, COLUMNS, ZOOM, captions(task))?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use mist::geometry::PixelBox;

    use super::*;

    fn image() -> DetectedImage {
        DetectedImage {
            file: "a,b.png".into(),
            width_px: 40,
            height_px: 30,
            detections: vec![Detection {
                bounds: PixelBox {
                    x_min_px: 1.0,
                    y_min_px: 2.0,
                    x_max_px: 11.0,
                    y_max_px: 22.0,
                },
                label: 1,
                score: 0.5,
            }],
        }
    }

    #[test]
    fn every_format_holds_the_same_box() {
        let names = ["zero".to_owned(), "one".to_owned()];
        let text = |format| to_text(&[image()], &names, format);
        let csv = text(DetectionFormat::Csv);
        assert_eq!(csv.lines().nth(1), Some("\"a,b.png\",1,2,10,20,1,one,0.5"));
        let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let json = parsed(&text(DetectionFormat::Json));
        assert_eq!(
            json[0]["detections"][0]["bbox"],
            json!([1.0, 2.0, 10.0, 20.0])
        );
        assert_eq!(json[0]["detections"][0]["name"], "one");
        let coco = parsed(&text(DetectionFormat::Coco));
        assert_eq!(coco["annotations"][0]["category_id"], 1);
        assert_eq!(coco["categories"][1]["name"], "one");
    }
}
