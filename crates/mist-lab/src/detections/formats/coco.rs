//! COCO data sets and COCO results.
//!
//! Images and categories count from 0, as in the sets that `mist data generate` writes, so that results can be evaluated
//! against those; annotations count from 1, since the reference evaluator takes 0 for "no annotation".

use std::fs::File;
use std::io::{Read, Seek, Write};

use mist::geometry::Detection;
use serde::Serialize;

use super::super::output::TextOutput;
use super::json::Rows;
use super::{DetectedImage, DetectionWriter, bbox};
use crate::error::{Error, Result};

#[derive(Serialize)]
struct Category<'a> {
    id: usize,
    name: &'a str,
}

#[derive(Serialize)]
struct Image<'a> {
    id: u64,
    file_name: &'a str,
    width: usize,
    height: usize,
}

#[derive(Serialize)]
struct Annotation {
    id: u64,
    #[serde(flatten)]
    found: Found,
    area: f32,
    iscrowd: u8,
}

#[derive(Serialize)]
struct Found {
    image_id: u64,
    category_id: usize,
    bbox: [f32; 4],
    score: f32,
}

impl Found {
    fn new(image: &DetectedImage, detection: &Detection) -> Self {
        Self {
            image_id: image.index,
            category_id: detection.label,
            bbox: bbox(detection),
            score: detection.score,
        }
    }
}

/// Writes annotations as they come; the list of images, which follows them, waits in a temporary file.
pub(super) struct CocoWriter {
    out: TextOutput,
    annotations: Rows,
    written: u64,
    images: Rows,
    waiting: File,
}

impl CocoWriter {
    pub fn new(mut out: TextOutput, class_names: &[String]) -> Result<Self> {
        let names = class_names.iter().enumerate();
        let categories: Vec<_> = names.map(|(id, name)| Category { id, name }).collect();
        let categories = serde_json::to_string(&categories)?;
        out.write(&format!(
            "{{\"categories\": {categories},\n\"annotations\": "
        ))?;
        Ok(Self {
            out,
            annotations: Rows::default(),
            written: 0,
            images: Rows::default(),
            waiting: tempfile::tempfile().map_err(no_room)?,
        })
    }
}

impl DetectionWriter for CocoWriter {
    fn write(&mut self, image: &DetectedImage) -> Result<()> {
        for detection in &image.detections {
            self.written += 1;
            let found = Found::new(image, detection);
            let annotation = Annotation {
                id: self.written,
                area: found.bbox[2] * found.bbox[3],
                found,
                iscrowd: 0,
            };
            self.annotations.write(&mut self.out, &annotation)?;
        }
        let row = serde_json::to_string(&Image {
            id: image.index,
            file_name: &image.file,
            width: image.width_px,
            height: image.height_px,
        })?;
        let row = format!("{}{row}", self.images.separator());
        self.waiting.write_all(row.as_bytes()).map_err(no_room)?;
        self.out.flush()
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.out.write(self.annotations.end())?;
        self.out.write(",\n\"images\": ")?;
        self.waiting.rewind().map_err(no_room)?;
        copy(&mut self.waiting, &mut self.out)?;
        self.out.write(self.images.end())?;
        self.out.write("}\n")?;
        self.out.finish()
    }
}

fn copy(from: &mut File, to: &mut TextOutput) -> Result<()> {
    let mut block = vec![0; 1 << 16];
    let mut rest = Vec::new();
    loop {
        let count = from.read(&mut block).map_err(no_room)?;
        if count == 0 {
            return Ok(());
        }
        rest.extend_from_slice(&block[..count]);
        // A block may end within a character.
        let whole = match std::str::from_utf8(&rest) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text: Vec<u8> = rest.drain(..whole).collect();
        to.write(&String::from_utf8_lossy(&text))?;
    }
}

fn no_room(source: std::io::Error) -> Error {
    Error::Io {
        action: "keep the list of images in",
        path: std::env::temp_dir(),
        source,
    }
}

/// Writes the list alone that evaluators compare with a data set.
pub(super) struct CocoResultsWriter {
    out: TextOutput,
    rows: Rows,
}

impl CocoResultsWriter {
    pub fn new(out: TextOutput) -> Self {
        let rows = Rows::default();
        Self { out, rows }
    }
}

impl DetectionWriter for CocoResultsWriter {
    fn write(&mut self, image: &DetectedImage) -> Result<()> {
        for detection in &image.detections {
            self.rows
                .write(&mut self.out, &Found::new(image, detection))?;
        }
        self.out.flush()
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.rows.finish(self.out)
    }
}
