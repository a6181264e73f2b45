//! The formats that detections are written in, each image as it comes.

mod coco;
mod counts;
mod csv;
mod json;
mod label_studio;
mod voc;
mod yolo;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::Path;

use mist::geometry::{Detection, PixelBox};
use serde::{Deserialize, Serialize};

use super::DetectedImage;
use super::output::TextOutput;
use super::places::OutputDirectory;
use crate::error::{Error, Result};

/// How detections are written; [`DetectionFormat::description`] says more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DetectionFormat {
    /// JSON.
    Json,
    /// CSV.
    Csv,
    /// COCO, as a data set.
    Coco,
    /// COCO, as results.
    CocoResults,
    /// Pascal VOC.
    Voc,
    /// YOLO.
    Yolo,
    /// Label Studio.
    LabelStudio,
}

impl DetectionFormat {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Json,
        Self::Csv,
        Self::Coco,
        Self::CocoResults,
        Self::Voc,
        Self::Yolo,
        Self::LabelStudio,
    ];

    /// The name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Coco => "coco",
            Self::CocoResults => "coco-results",
            Self::Voc => "voc",
            Self::Yolo => "yolo",
            Self::LabelStudio => "label-studio",
        }
    }

    /// What it is, in a few words.
    pub fn description(self) -> &'static str {
        match self {
            Self::Json => "A list with one object per image",
            Self::Csv => "One line per box",
            Self::Coco => "A COCO data set: images, categories and annotations with scores",
            Self::CocoResults => "A list of COCO results, which `loadRes` of pycocotools reads",
            Self::Voc => "Pascal VOC: one XML file per image",
            Self::Yolo => "YOLO labels: one text file per image, and classes.txt",
            Self::LabelStudio => "Label Studio's tasks with predictions",
        }
    }

    /// Whether it is a file per image, in a directory.
    pub fn is_directory(self) -> bool {
        self.extension_per_image().is_some()
    }

    /// What its files are called, where it is a file per image.
    fn extension_per_image(self) -> Option<&'static str> {
        match self {
            Self::Voc => Some("xml"),
            Self::Yolo => Some("txt"),
            _ => None,
        }
    }

    /// Adds the file or directory of its results to those of other outputs.
    pub(super) fn add_output<'a>(
        self,
        out: Option<&'a Path>,
        directories: &mut Vec<OutputDirectory<'a>>,
        files: &mut Vec<&'a Path>,
    ) {
        match (out, self.extension_per_image()) {
            (Some(path), Some(extension)) => directories.push(OutputDirectory { path, extension }),
            (out, _) => files.extend(out),
        }
    }

    /// Names in its directory that are not an image's.
    pub(super) fn reserved_stems(self) -> &'static [&'static str] {
        match self {
            Self::Yolo => &[yolo::CLASSES_STEM],
            _ => &[],
        }
    }
}

/// Takes what was found, image after image in order of their indices.
pub(super) trait DetectionWriter {
    /// Writes one image.
    fn write(&mut self, image: &DetectedImage) -> Result<()>;

    /// Writes what stands at the end; files appear now.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// A writer to a file or directory, or to a stream where none is named.
///
/// # Errors
/// When a format of many files has no directory, or the file cannot be created.
pub(super) fn writer(
    format: DetectionFormat,
    class_names: &[String],
    out: Option<&Path>,
    stream: Box<dyn Write>,
) -> Result<Box<dyn DetectionWriter>> {
    let names = class_names.to_vec();
    let Some(directory) = out.filter(|_| format.is_directory()) else {
        let out = match out {
            Some(path) => TextOutput::to_file(path)?,
            None => TextOutput::to_stream(stream),
        };
        return Ok(match format {
            DetectionFormat::Json => Box::new(json::JsonWriter::new(out, names)),
            DetectionFormat::Csv => Box::new(csv::CsvWriter::new(out, names)?),
            DetectionFormat::Coco => Box::new(coco::CocoWriter::new(out, &names)?),
            DetectionFormat::CocoResults => Box::new(coco::CocoResultsWriter::new(out)),
            DetectionFormat::LabelStudio => {
                Box::new(label_studio::LabelStudioWriter::new(out, names))
            }
            DetectionFormat::Voc | DetectionFormat::Yolo => {
                let reason = "voc and yolo write a file per image: name a directory with --out";
                return Err(Error::Usage(reason.to_owned()));
            }
        });
    };
    Ok(match format {
        DetectionFormat::Yolo => Box::new(yolo::YoloWriter::new(directory, &names)?),
        _ => Box::new(voc::VocWriter::new(directory, names)),
    })
}

/// A writer of the number of objects of each class in each image.
///
/// # Errors
/// When the file cannot be created.
pub(super) fn counts_writer(
    path: &Path,
    class_names: &[String],
) -> Result<Box<dyn DetectionWriter>> {
    let out = TextOutput::to_file(path)?;
    Ok(Box::new(counts::CountsWriter::new(
        out,
        class_names.to_vec(),
    )?))
}

/// Left, top, width and height of a detection, in pixels.
fn bbox(detection: &Detection) -> [f32; 4] {
    let bounds = detection.bounds;
    [
        bounds.x_min_px,
        bounds.y_min_px,
        bounds.x_max_px - bounds.x_min_px,
        bounds.y_max_px - bounds.y_min_px,
    ]
}

/// The part of a box that lies in the image; `None` if there is none.
fn visible(image: &DetectedImage, bounds: PixelBox) -> Option<PixelBox> {
    let (width_px, height_px) = (image.width_px as f32, image.height_px as f32);
    let part = PixelBox {
        x_min_px: bounds.x_min_px.max(0.0),
        y_min_px: bounds.y_min_px.max(0.0),
        x_max_px: bounds.x_max_px.min(width_px),
        y_max_px: bounds.y_max_px.min(height_px),
    };
    (part.area_px2() > 0.0).then_some(part)
}

fn name_of<'a>(class_names: &'a [String], detection: &Detection) -> &'a str {
    class_names.get(detection.label).map_or("", String::as_str)
}
