//! Everything that one detection in files does.

use std::io::Write;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use mist::extract::Selection;
use mist::large::LargeSearch;

use super::batches::Input;
use super::formats::{DetectionWriter, counts_writer, writer};
use super::inputs::{self, list_images};
use super::pictures::Pictures;
use super::places::OutputDirectory;
use super::shards::{Shard, ShardFile, ShardHeader};
use super::stream::{Results, Search, search_all};
use super::{DetectedImage, DetectionFormat, Outcome, places};
use super::{Instances, large};
use crate::error::{Error, Result};
use crate::models::Loaded;
use crate::observer::Observer;

/// What the only class of a model without classes is called.
const ANY_OBJECT: &str = "object";

/// What to search, and where the results go.
#[derive(Clone, Debug)]
pub struct DetectRequest {
    /// Files, folders and patterns; see [`list_images`].
    pub images: Vec<PathBuf>,
    /// How many objects, instead of the model's K.
    pub instances: Option<Instances>,
    /// Side of the tiles in which large images are searched.
    pub tile_px: usize,
    /// How results are written.
    pub format: DetectionFormat,
    /// A file, or a directory for formats of a file per image; a stream if there is none.
    pub out: Option<PathBuf>,
    /// A table of the number of objects of each class in each image.
    pub counts: Option<PathBuf>,
    /// A directory for images with boxes, names and scores.
    pub overlay: Option<PathBuf>,
    /// A directory for images as the model redraws them; for models trained by reconstruction.
    pub redrawn: Option<PathBuf>,
    /// A directory for the boxes, cut out.
    pub crops: Option<PathBuf>,
    /// A directory for heatmaps.
    pub heatmap: Option<PathBuf>,
    /// Which part of the images, if not all of them.
    pub shard: Option<Shard>,
}

/// Finds objects in image files and writes results as they come, in order of the inputs.
///
/// A file that cannot be read or searched is told to the observer, counted and left out. The part of a shard goes to
/// [`Shard::file`], for [`merge`](super::merge) to read; a shard whose part is there already is not searched again.
///
/// # Errors
/// When there is nothing to search, an output would replace an image or another output, results cannot be written, or the
/// caller asks to stop; files that are then not whole are not there at all.
pub fn detect(
    loaded: &Loaded,
    request: &DetectRequest,
    stream: Box<dyn Write>,
    device: &Device,
    observer: &mut dyn Observer,
    stop: &dyn Fn() -> Option<i32>,
) -> Result<Outcome> {
    let inputs = list_images(&request.images);
    if inputs.files.is_empty() && inputs.failures.is_empty() {
        return Err(inputs::no_images(&request.images));
    }
    for folder in &inputs.empty {
        observer.warning(&format!("{} holds no images", folder.display()));
    }
    let pictures = request.pictures();
    let part = request.part()?;
    // Of these, only a mistake would be an output.
    let model = [
        loaded.weights.clone(),
        loaded.weights.with_file_name("config.json"),
    ];
    let read = [&inputs.files[..], &model].concat();
    request.check_places(&read, &pictures, part.as_deref())?;
    let finder = loaded.finder.as_ref();
    let class_names = match finder.classes() {
        Some(_) => loaded.card.class_names.clone(),
        None => vec![ANY_OBJECT.to_owned()],
    };
    let selection = loaded.selection(request.instances)?;
    let large = large::search_by(request.tile_px)?;
    let mut results = match (request.shard, &part) {
        (Some(shard), Some(path)) => {
            let header = ShardHeader {
                shard,
                format: request.format,
                class_names: class_names.clone(),
                selection: format!("{selection:?}"),
                tile_px: request.tile_px,
                ..ShardHeader::of_files(&inputs.files, finder)?
            };
            if let Some(outcome) = header.finished(path)? {
                observer.message(&format!(
                    "shard {shard} is done already: {}",
                    path.display()
                ));
                return Ok(outcome);
            }
            Destination::Part(ShardFile::create(path, &header)?)
        }
        _ => Destination::Whole(request.writers(&class_names, stream)?),
    };
    let search = Search {
        finder,
        class_names: &class_names,
        foreground: loaded.card.foreground,
        selection,
        large,
        calibration: match selection {
            Selection::AtLeast(_) => loaded.calibration.as_ref(),
            Selection::Strongest(_) => None,
        },
        pictures,
        device,
    };
    let stems = places::unique_stems(&inputs.files, request.format.reserved_stems());
    let chosen: Vec<Input> = (0..)
        .zip(inputs.files.iter().zip(&stems))
        .filter(|(_, (path, _))| request.shard.is_none_or(|shard| shard.holds(path)))
        .map(|(index, (path, stem))| Input { index, path, stem })
        .collect();
    let mut outcome = search_all(&search, chosen.into_iter(), &mut results, observer, stop)?;
    if request.shard.is_none_or(Shard::is_first) {
        for failure in &inputs.failures {
            observer.failure(&failure.to_string());
            outcome.failed += 1;
        }
    }
    results.finish(outcome)?;
    Ok(outcome)
}

impl DetectRequest {
    /// Everything in these images, as JSON to a stream.
    pub fn new(images: Vec<PathBuf>) -> Self {
        Self {
            images,
            instances: None,
            tile_px: LargeSearch::default().window_px,
            format: DetectionFormat::Json,
            out: None,
            counts: None,
            overlay: None,
            redrawn: None,
            crops: None,
            heatmap: None,
            shard: None,
        }
    }

    fn pictures(&self) -> Pictures {
        Pictures {
            overlay: self.overlay.clone(),
            redrawn: self.redrawn.clone(),
            crops: self.crops.clone(),
            heatmap: self.heatmap.clone(),
        }
    }

    /// The file of a shard's part.
    fn part(&self) -> Result<Option<PathBuf>> {
        let Some(shard) = self.shard else {
            return Ok(None);
        };
        if self.counts.is_some() {
            let reason = "a shard does not know all counts; give --counts to `mist merge`";
            return Err(Error::Usage(reason.to_owned()));
        }
        match &self.out {
            Some(out) => Ok(Some(shard.file(out))),
            None => Err(Error::Usage(format!(
                "shard {shard} needs --out: its part goes to a file beside it, for `mist merge`; \
                 `--shard 1/1` does everything here"
            ))),
        }
    }

    fn check_places(
        &self,
        inputs: &[PathBuf],
        pictures: &Pictures,
        part: Option<&Path>,
    ) -> Result<()> {
        let of_pictures = |path| OutputDirectory {
            path,
            extension: "png",
        };
        let mut directories: Vec<_> = pictures.directories().map(of_pictures).collect();
        let mut files: Vec<&Path> = self.counts.iter().map(PathBuf::as_path).collect();
        match (part, &self.out) {
            (Some(part), _) => files.push(part),
            (None, out) => self
                .format
                .add_output(out.as_deref(), &mut directories, &mut files),
        }
        places::check(inputs, &directories, &files)
    }

    fn writers(
        &self,
        class_names: &[String],
        stream: Box<dyn Write>,
    ) -> Result<Vec<Box<dyn DetectionWriter>>> {
        let mut writers = vec![writer(
            self.format,
            class_names,
            self.out.as_deref(),
            stream,
        )?];
        if let Some(counts) = &self.counts {
            writers.push(counts_writer(counts, class_names)?);
        }
        Ok(writers)
    }
}

/// Where results go.
enum Destination {
    Whole(Vec<Box<dyn DetectionWriter>>),
    Part(ShardFile),
}

impl Destination {
    fn finish(self, outcome: Outcome) -> Result<()> {
        match self {
            Self::Whole(writers) => writers.into_iter().try_for_each(DetectionWriter::finish),
            Self::Part(part) => part.finish(outcome),
        }
    }
}

impl Results for Destination {
    fn found(&mut self, image: &DetectedImage) -> Result<()> {
        match self {
            Self::Whole(writers) => writers
                .iter_mut()
                .try_for_each(|writer| writer.write(image)),
            Self::Part(part) => part.found(image),
        }
    }

    fn failed(&mut self, input: Input, reason: &str) -> Result<()> {
        match self {
            Self::Whole(_) => Ok(()),
            Self::Part(part) => part.failed(input.index, reason),
        }
    }
}
