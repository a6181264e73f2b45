//! Pascal VOC: one XML file per image.

use std::path::{Path, PathBuf};

use mist::geometry::Detection;

use super::{DetectedImage, DetectionWriter, name_of, visible};
use crate::error::Result;
use crate::run::whole_file;

pub(super) struct VocWriter {
    directory: PathBuf,
    class_names: Vec<String>,
}

impl VocWriter {
    pub fn new(directory: &Path, class_names: Vec<String>) -> Self {
        let directory = directory.to_owned();
        Self {
            directory,
            class_names,
        }
    }

    /// VOC counts pixels from 1, and the last one is part of the box.
    fn object(&self, image: &DetectedImage, found: &Detection) -> Option<String> {
        let part = visible(image, found.bounds)?;
        let name = escaped(name_of(&self.class_names, found));
        let truncated = u8::from(part != found.bounds);
        let (x_min, y_min) = (part.x_min_px.floor() + 1.0, part.y_min_px.floor() + 1.0);
        let (x_max, y_max) = (part.x_max_px.ceil(), part.y_max_px.ceil());
        let score = found.score;
        Some(format!(
            "  <object>\n    <name>{name}</name>\n    <pose>Unspecified</pose>\n    \
             <truncated>{truncated}</truncated>\n    <difficult>0</difficult>\n    \
             <score>{score}</score>\n    <bndbox>\n      <xmin>{x_min}</xmin>\n      \
             <ymin>{y_min}</ymin>\n      <xmax>{x_max}</xmax>\n      <ymax>{y_max}</ymax>\n    \
             </bndbox>\n  </object>\n"
        ))
    }
}

impl DetectionWriter for VocWriter {
    fn write(&mut self, image: &DetectedImage) -> Result<()> {
        let path = escaped(&image.file);
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", &path));
        let folder = folder.rsplit('/').next().unwrap_or_default();
        let (width, height, depth) = (image.width_px, image.height_px, image.channels);
        let mut text = format!(
            "<annotation>\n  <folder>{folder}</folder>\n  <filename>{file}</filename>\n  \
             <path>{path}</path>\n  <size>\n    <width>{width}</width>\n    \
             <height>{height}</height>\n    <depth>{depth}</depth>\n  </size>\n  \
             <segmented>0</segmented>\n"
        );
        for found in &image.detections {
            if let Some(object) = self.object(image, found) {
                text.push_str(&object);
            }
        }
        text.push_str("</annotation>\n");
        let path = self.directory.join(format!("{}.xml", image.stem));
        whole_file::write(&path, text.as_bytes())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// Text between tags; characters that XML does not allow become U+FFFD and their number.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\n' | '\r' | '\t' => out.push_str(&format!("&#{};", u32::from(character))),
            '\0'..='\x1F' | '\u{FFFE}' | '\u{FFFF}' => {
                out.push_str(&format!("\u{FFFD}{:02X}", u32::from(character)));
            }
            other => out.push(other),
        }
    }
    out
}
