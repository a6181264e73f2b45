//! The parts of a detection, put together.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::file::{Line, ShardHeader, ShardReader};
use crate::detections::formats::{DetectionWriter, counts_writer, writer};
use crate::detections::{Outcome, places};
use crate::error::{Error, Result};
use crate::observer::Observer;

/// Which parts to put together, and where the whole goes.
#[derive(Clone, Debug)]
pub struct MergeRequest {
    /// The file of every part.
    pub shards: Vec<PathBuf>,
    /// A file, or a directory for formats of a file per image; a stream if there is none.
    pub out: Option<PathBuf>,
    /// A table of the number of objects of each class in each image.
    pub counts: Option<PathBuf>,
}

/// Writes what one detection without shards would have written, byte for byte.
///
/// # Errors
/// When a part is missing, damaged or of another detection, or the whole cannot be written.
pub fn merge(
    request: &MergeRequest,
    stream: Box<dyn Write>,
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    let mut parts = request
        .shards
        .iter()
        .map(|path| Part::open(path))
        .collect::<Result<Vec<_>>>()?;
    let header = check(&parts)?;
    let mut directories = Vec::new();
    let mut files: Vec<&Path> = request.counts.iter().map(PathBuf::as_path).collect();
    let out = request.out.as_deref();
    header.format.add_output(out, &mut directories, &mut files);
    // Parts lie beside directories of outputs, never in them.
    places::check(&request.shards, &directories, &files)?;
    let mut writers = vec![writer(header.format, &header.class_names, out, stream)?];
    if let Some(counts) = &request.counts {
        writers.push(counts_writer(counts, &header.class_names)?);
    }
    let outcome = write_all(&mut parts, &header, &mut writers, observer)?;
    writers.into_iter().try_for_each(DetectionWriter::finish)?;
    Ok(outcome)
}

/// One part and its next line.
struct Part {
    reader: ShardReader,
    next: Line,
}

impl Part {
    fn open(path: &Path) -> Result<Self> {
        let mut reader = ShardReader::open(path)?;
        let next = reader.next()?;
        Ok(Self { reader, next })
    }

    /// The index of the input that comes next; `None` at the end.
    fn index(&self) -> Option<u64> {
        match &self.next {
            Line::Found(image) => Some(image.index),
            Line::Failed { index, .. } => Some(*index),
            Line::Header(_) | Line::End(_) => None,
        }
    }
}

fn check(parts: &[Part]) -> Result<ShardHeader> {
    let Some(first) = parts.first().map(|part| &part.reader) else {
        return Err(Error::Usage("no shards were given".to_owned()));
    };
    let count = first.header.shard.count;
    let mut given = vec![0; usize::try_from(count).unwrap_or(0).min(1 << 20)];
    for part in parts {
        let reader = &part.reader;
        if !reader.header.belongs_to(&first.header) {
            return Err(Error::Usage(format!(
                "{} and {} are parts of different detections",
                first.path.display(),
                reader.path.display()
            )));
        }
        let index = usize::try_from(reader.header.shard.index).unwrap_or(usize::MAX);
        if let Some(times) = given.get_mut(index) {
            *times += 1;
        }
    }
    let missing = given.iter().position(|&times| times == 0);
    let twice = given.iter().position(|&times| times > 1);
    match (missing, twice) {
        (Some(part), _) => Err(Error::Usage(format!(
            "shard {}/{count} is missing",
            part + 1
        ))),
        (_, Some(part)) => Err(Error::Usage(format!(
            "shard {}/{count} was given twice",
            part + 1
        ))),
        _ => Ok(first.header.clone()),
    }
}

fn write_all(
    parts: &mut [Part],
    header: &ShardHeader,
    writers: &mut [Box<dyn DetectionWriter>],
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for expected in 0..header.files {
        let next = parts.iter_mut().find(|part| part.index() == Some(expected));
        let Some(part) = next else {
            return Err(Error::Failed(format!(
                "input {expected} of {} is in no shard: run the shards again",
                header.files
            )));
        };
        let line = part.reader.next()?;
        match std::mem::replace(&mut part.next, line) {
            Line::Found(image) => {
                outcome.images += 1;
                outcome.objects += image.detections.len() as u64;
                writers
                    .iter_mut()
                    .try_for_each(|writer| writer.write(&image))?;
            }
            Line::Failed { reason, .. } => {
                outcome.failed += 1;
                observer.failure(&reason);
            }
            Line::Header(_) | Line::End(_) => {}
        }
    }
    // Folders that could not be read are no inputs, but count.
    let failed = parts.iter().map(|part| match &part.next {
        Line::End(end) => end.failed,
        _ => 0,
    });
    outcome.failed = failed.sum::<u64>().max(outcome.failed);
    Ok(outcome)
}
