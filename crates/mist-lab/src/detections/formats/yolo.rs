//! YOLO labels: one text file per image, with a line `class x y width height` per box, in fractions of the image.

use std::path::{Path, PathBuf};

use super::{DetectedImage, DetectionWriter, visible};
use crate::error::Result;
use crate::run::whole_file;

/// The file of class names, without its extension.
pub(super) const CLASSES_STEM: &str = "classes";

pub(super) struct YoloWriter {
    directory: PathBuf,
}

impl YoloWriter {
    pub fn new(directory: &Path, class_names: &[String]) -> Result<Self> {
        let path = directory.join(format!("{CLASSES_STEM}.txt"));
        // A name is a line.
        let names: String = class_names
            .iter()
            .map(|name| format!("{}\n", name.replace(['\n', '\r'], " ")))
            .collect();
        whole_file::write(&path, names.as_bytes())?;
        let directory = directory.to_owned();
        Ok(Self { directory })
    }
}

impl DetectionWriter for YoloWriter {
    fn write(&mut self, image: &DetectedImage) -> Result<()> {
        let (width, height) = (image.width_px as f64, image.height_px as f64);
        let mut text = String::new();
        for found in &image.detections {
            let Some(part) = visible(image, found.bounds) else {
                continue;
            };
            let (x, y) = part.centre_px();
            text.push_str(&format!(
                "{} {:.7} {:.7} {:.7} {:.7}\n",
                found.label,
                f64::from(x) / width,
                f64::from(y) / height,
                f64::from(part.width_px()) / width,
                f64::from(part.height_px()) / height
            ));
        }
        let path = self.directory.join(format!("{}.txt", image.stem));
        whole_file::write(&path, text.as_bytes())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
