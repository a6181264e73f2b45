//! A JSON list with one object per image, each on a line of its own.

use mist::geometry::Detection;
use serde::Serialize;

use super::super::output::TextOutput;
use super::{DetectedImage, DetectionWriter, bbox, name_of};
use crate::error::Result;

/// A JSON list that is written row by row.
#[derive(Debug, Default)]
pub(super) struct Rows {
    any: bool,
}

impl Rows {
    /// What stands before the next row.
    pub fn separator(&mut self) -> &'static str {
        match std::mem::replace(&mut self.any, true) {
            false => "[\n",
            true => ",\n",
        }
    }

    /// What ends the list.
    pub fn end(&self) -> &'static str {
        if self.any { "\n]" } else { "[]" }
    }

    pub fn write(&mut self, out: &mut TextOutput, row: &impl Serialize) -> Result<()> {
        out.write(self.separator())?;
        out.write(&serde_json::to_string(row)?)
    }

    /// Ends the list, which is all of the output.
    pub fn finish(&self, mut out: TextOutput) -> Result<()> {
        out.write(self.end())?;
        out.write("\n")?;
        out.finish()
    }
}

#[derive(Serialize)]
struct Row<'a> {
    file: &'a str,
    width: usize,
    height: usize,
    detections: Vec<Found<'a>>,
}

#[derive(Serialize)]
struct Found<'a> {
    /// Left, top, width, height in pixels.
    bbox: [f32; 4],
    label: usize,
    name: &'a str,
    score: f32,
}

pub(super) struct JsonWriter {
    out: TextOutput,
    class_names: Vec<String>,
    rows: Rows,
}

impl JsonWriter {
    pub fn new(out: TextOutput, class_names: Vec<String>) -> Self {
        let rows = Rows::default();
        Self {
            out,
            class_names,
            rows,
        }
    }
}

impl DetectionWriter for JsonWriter {
    fn write(&mut self, image: &DetectedImage) -> Result<()> {
        let found = |detection: &Detection| Found {
            bbox: bbox(detection),
            label: detection.label,
            name: name_of(&self.class_names, detection),
            score: detection.score,
        };
        let row = Row {
            file: &image.file,
            width: image.width_px,
            height: image.height_px,
            detections: image.detections.iter().map(found).collect(),
        };
        self.rows.write(&mut self.out, &row)?;
        self.out.flush()
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.rows.finish(self.out)
    }
}
