//! A table of how many objects of each class each image has: `file,class,count`.

use super::super::output::TextOutput;
use super::csv::lines;
use super::{DetectedImage, DetectionWriter};
use crate::error::Result;

pub(super) struct CountsWriter {
    out: TextOutput,
    class_names: Vec<String>,
}

impl CountsWriter {
    pub fn new(mut out: TextOutput, class_names: Vec<String>) -> Result<Self> {
        out.write(&lines([["file", "class", "count"]])?)?;
        Ok(Self { out, class_names })
    }
}

impl DetectionWriter for CountsWriter {
    fn write(&mut self, image: &DetectedImage) -> Result<()> {
        // Zeros too: an image without objects is not an image that was not counted.
        let rows = self.class_names.iter().enumerate().map(|(label, name)| {
            let found = image.detections.iter();
            let count = found.filter(|found| found.label == label).count();
            (image.file.as_str(), name.as_str(), count)
        });
        self.out.write(&lines(rows)?)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.out.finish()
    }
}
