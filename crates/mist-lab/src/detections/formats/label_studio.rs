//! Tasks with predictions, as Label Studio imports them.
//!
//! The labelling interface needs an `Image` called `image` and `RectangleLabels` called `label`. Images are served from
//! the local storage, whose root must be the directory that the paths start from.

use mist::geometry::Detection;
use serde_json::{Value, json};

use super::super::output::TextOutput;
use super::json::Rows;
use super::{DetectedImage, DetectionWriter, name_of, visible};
use crate::error::Result;

pub(super) struct LabelStudioWriter {
    out: TextOutput,
    class_names: Vec<String>,
    rows: Rows,
}

impl LabelStudioWriter {
    pub fn new(out: TextOutput, class_names: Vec<String>) -> Self {
        let rows = Rows::default();
        Self {
            out,
            class_names,
            rows,
        }
    }

    /// One box in percent of the image; `None` where nothing of it is in the image.
    fn region(&self, image: &DetectedImage, number: usize, found: &Detection) -> Option<Value> {
        let bounds = visible(image, found.bounds)?;
        let across = |px: f32| 100.0 * f64::from(px) / image.width_px as f64;
        let down = |px: f32| 100.0 * f64::from(px) / image.height_px as f64;
        Some(json!({
            "id": format!("{}-{number}", image.index),
            "type": "rectanglelabels",
            "from_name": "label",
            "to_name": "image",
            "original_width": image.width_px,
            "original_height": image.height_px,
            "image_rotation": 0,
            "score": found.score,
            "value": {
                "x": across(bounds.x_min_px),
                "y": down(bounds.y_min_px),
                "width": across(bounds.width_px()),
                "height": down(bounds.height_px()),
                "rotation": 0,
                "rectanglelabels": [name_of(&self.class_names, found)],
            },
        }))
    }
}

impl DetectionWriter for LabelStudioWriter {
    fn write(&mut self, image: &DetectedImage) -> Result<()> {
        let found = image.detections.iter().enumerate();
        let regions: Vec<Value> = found
            .filter_map(|(number, found)| self.region(image, number + 1, found))
            .collect();
        let path = image.file.trim_start_matches('/');
        let task = json!({
            "data": { "image": format!("/data/local-files/?d={}", in_url(path)) },
            "predictions": [{ "model_version": "mist", "result": regions }],
        });
        self.rows.write(&mut self.out, &task)?;
        self.out.flush()
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.rows.finish(self.out)
    }
}

/// Text as part of a URL: everything but letters, digits, `/`, `-`, `.`, `_` and `~` is written by its bytes.
fn in_url(text: &str) -> String {
    let mut url = String::new();
    for byte in text.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => url.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => url.push(char::from(byte)),
            _ => url.push_str(&format!("%{byte:02X}")),
        }
    }
    url
}
