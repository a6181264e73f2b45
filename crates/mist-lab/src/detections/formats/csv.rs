//! A table with one line per box.

use serde::Serialize;

use super::super::output::TextOutput;
use super::{DetectedImage, DetectionWriter, bbox, name_of};
use crate::error::{Error, Result};

const HEADER: [&str; 8] = [
    "file", "left", "top", "width", "height", "label", "name", "score",
];

#[derive(Serialize)]
struct Row<'a> {
    file: &'a str,
    left: f32,
    top: f32,
    width: f32,
    height: f32,
    label: usize,
    name: &'a str,
    score: f32,
}

pub(super) struct CsvWriter {
    out: TextOutput,
    class_names: Vec<String>,
}

impl CsvWriter {
    pub fn new(mut out: TextOutput, class_names: Vec<String>) -> Result<Self> {
        out.write(&lines([HEADER])?)?;
        Ok(Self { out, class_names })
    }
}

impl DetectionWriter for CsvWriter {
    fn write(&mut self, image: &DetectedImage) -> Result<()> {
        let rows = image.detections.iter().map(|detection| {
            let [left, top, width, height] = bbox(detection);
            Row {
                file: &image.file,
                left,
                top,
                width,
                height,
                label: detection.label,
                name: name_of(&self.class_names, detection),
                score: detection.score,
            }
        });
        let text = lines(rows)?;
        self.out.write(&text)?;
        self.out.flush()
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.out.finish()
    }
}

/// Rows as lines of CSV.
pub(super) fn lines(rows: impl IntoIterator<Item = impl Serialize>) -> Result<String> {
    let failed = |error: csv::Error| Error::Failed(format!("cannot write CSV: {error}"));
    let mut writer = csv::WriterBuilder::new()
        .has_headers(false)
        .from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).map_err(failed)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| failed(error.into_error().into()))?;
    String::from_utf8(bytes).map_err(|error| Error::Failed(format!("cannot write CSV: {error}")))
}
