//! Detections as other programs want them.

mod files;

use mist::geometry::Detection;
use serde::Serialize;
use serde_json::json;

use crate::error::{Error, Result};

pub use files::{DetectOptions, detect_files};

/// How detections are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetectionFormat {
    /// One object per image.
    Json,
    /// One line per box.
    Csv,
    /// Images, categories and annotations as COCO has them.
    Coco,
}

/// What was found in one file.
#[derive(Clone, Debug)]
pub struct DetectedImage {
    /// Its path as it was given.
    pub file: String,
    /// Width of the image.
    pub width_px: usize,
    /// Height of the image.
    pub height_px: usize,
    /// What was found, strongest first.
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
///
/// # Errors
/// When a value cannot be written.
pub fn to_text(
    images: &[DetectedImage],
    names: &[String],
    format: DetectionFormat,
) -> Result<String> {
    match format {
        DetectionFormat::Json => Ok(to_json(images, names)),
        DetectionFormat::Csv => to_csv(images, names),
        DetectionFormat::Coco => Ok(to_coco(images, names)),
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

#[derive(Serialize)]
struct CsvRow<'a> {
    file: &'a str,
    left: f32,
    top: f32,
    width: f32,
    height: f32,
    label: usize,
    name: &'a str,
    score: f32,
}

const CSV_HEADER: [&str; 8] = [
    "file", "left", "top", "width", "height", "label", "name", "score",
];

fn to_csv(images: &[DetectedImage], names: &[String]) -> Result<String> {
    let failed = |error: csv::Error| Error::Failed(format!("cannot write CSV: {error}"));
    let mut writer = csv::WriterBuilder::new()
        .has_headers(false)
        .from_writer(Vec::new());
    writer.write_record(CSV_HEADER).map_err(failed)?;
    for image in images {
        for detection in &image.detections {
            let found = found(detection, names);
            let [left, top, width, height] = found.bbox;
            let row = CsvRow {
                file: &image.file,
                left,
                top,
                width,
                height,
                label: found.label,
                name: found.name,
                score: found.score,
            };
            writer.serialize(row).map_err(failed)?;
        }
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| failed(error.into_error().into()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
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
        let text = |format| to_text(&[image()], &names, format).unwrap();
        let csv = text(DetectionFormat::Csv);
        assert_eq!(
            csv.lines().nth(1),
            Some("\"a,b.png\",1.0,2.0,10.0,20.0,1,one,0.5")
        );
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
