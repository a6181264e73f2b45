//! The search itself: images in, results out, in order.

use std::borrow::Cow;
use std::sync::mpsc::sync_channel;
use std::thread;

use burn::tensor::{Device, Tensor};
use mist::extract::Selection;
use mist::finder::Finder;
use mist::geometry::Detection;
use mist::large::LargeSearch;
use mist_data::{BACKGROUND, Foreground, Image};

use super::batches::{Input, ReadImage, batches, read_ahead};
use super::contrast::shows_something;
use super::pictures::Pictures;
use super::{DetectedImage, Outcome, path_text};
use crate::batches::to_tensor;
use crate::calibration::Calibration;
use crate::error::{Context, Error, Result};
use crate::observer::Observer;

/// What finds, and how.
pub(super) struct Search<'a> {
    pub finder: &'a dyn Finder,
    /// What labels are called.
    pub class_names: &'a [String],
    /// What the model sees of an image.
    pub foreground: Foreground,
    /// Which objects.
    pub selection: Selection,
    /// How large images are searched.
    pub large: LargeSearch,
    /// What scores mean, where they are told as probabilities.
    pub calibration: Option<&'a Calibration>,
    pub pictures: Pictures,
    pub device: &'a Device,
}

impl Search<'_> {
    /// An image as the model sees it.
    pub fn seen<'i>(&self, image: &'i Image) -> Cow<'i, Image> {
        match self.foreground {
            Foreground::Plain => Cow::Borrowed(image),
            foreground => Cow::Owned(foreground.normalise(image.clone())),
        }
    }

    /// Images of one size as the model sees them.
    pub fn tensor<'i>(&self, images: impl Iterator<Item = &'i Image>) -> Result<Tensor<4>> {
        let seen: Vec<Cow<Image>> = images.map(|image| self.seen(image)).collect();
        let seen = seen.iter().map(|image| &**image);
        to_tensor(seen, self.finder.channels(), self.device)
    }

    /// What is found, without the boxes that hold no object.
    fn objects(&self, mut found: Vec<Detection>) -> Vec<Detection> {
        let names = self.class_names;
        found.retain(|found| names.get(found.label).is_none_or(|name| name != BACKGROUND));
        found
    }
}

/// Takes what became of each input, in order.
pub(super) trait Results {
    fn found(&mut self, image: &DetectedImage) -> Result<()>;
    fn failed(&mut self, input: Input, reason: &str) -> Result<()>;
}

/// Searches every input; those that cannot be read or searched are told, counted and left out.
///
/// # Errors
/// When results or pictures cannot be written, or the caller asks to stop.
pub(super) fn search_all<'a>(
    search: &Search,
    inputs: impl ExactSizeIterator<Item = Input<'a>> + Send,
    results: &mut dyn Results,
    observer: &mut dyn Observer,
    stop: &dyn Fn() -> Option<i32>,
) -> Result<Outcome> {
    observer.images_started(inputs.len() as u64);
    let outcome = thread::scope(|scope| {
        let (sender, portions) = sync_channel(0);
        scope.spawn(move || read_ahead(inputs, &sender));
        let mut outcome = Outcome::default();
        for portion in portions {
            search_portion(search, portion, &mut outcome, results, observer, stop)?;
        }
        Ok(outcome)
    });
    observer.images_ended();
    outcome
}

fn search_portion(
    search: &Search,
    portion: Vec<ReadImage>,
    outcome: &mut Outcome,
    results: &mut dyn Results,
    observer: &mut dyn Observer,
    stop: &dyn Fn() -> Option<i32>,
) -> Result<()> {
    let mut found: Vec<Option<Result<Vec<Detection>>>> = Vec::new();
    found.resize_with(portion.len(), || None);
    let mut done = outcome.images + outcome.failed;
    for places in batches(&portion, &|image| search.is_large(image)) {
        if let Some(signal) = stop() {
            return Err(Error::Stopped(signal));
        }
        for (place, detections) in search_batch(search, &portion, &places) {
            found[place] = Some(detections);
        }
        done += places.len() as u64;
        observer.images_done(done);
    }
    for (read, detections) in portion.into_iter().zip(found) {
        let input = read.input;
        let done = read.image.and_then(|image| {
            let mut objects = search.objects(detections.unwrap_or_else(|| Ok(Vec::new()))?);
            if let Some(calibration) = search.calibration {
                objects.retain(|found| shows_something(&image, found.bounds));
                for object in &mut objects {
                    object.score = calibration.probability(object.score);
                }
            }
            Ok((detected(input, &image, objects), image))
        });
        let told = match done {
            Ok((detected, image)) => {
                let drawn = search.pictures.write(search, &image, &detected);
                match drawn.context(input.path.display()) {
                    Err(error) if !is_of_one_image(&error) => return Err(error),
                    drawn => {
                        results.found(&detected)?;
                        outcome.objects += detected.detections.len() as u64;
                        match drawn {
                            Ok(()) => outcome.images += 1,
                            Err(_) => outcome.failed += 1,
                        }
                        drawn.err().map(|error| error.to_string())
                    }
                }
            }
            Err(error) => {
                let reason = named(input, error);
                results.failed(input, &reason)?;
                outcome.failed += 1;
                Some(reason)
            }
        };
        if let Some(reason) = told {
            observer.failure(&reason);
        }
    }
    observer.images_done(outcome.images + outcome.failed);
    Ok(())
}

/// A picture that cannot be drawn says nothing of the next one; a disk that is full does.
fn is_of_one_image(error: &Error) -> bool {
    match error {
        Error::Draw(_) => true,
        Error::Context { source, .. } => is_of_one_image(source),
        _ => false,
    }
}

fn named(input: Input, error: Error) -> String {
    let (text, path) = (error.to_string(), input.path.display().to_string());
    match text.contains(&path) {
        true => text,
        false => format!("{path}: {text}"),
    }
}

fn detected(input: Input, image: &Image, detections: Vec<Detection>) -> DetectedImage {
    DetectedImage {
        index: input.index,
        file: path_text(input.path),
        stem: input.stem.to_owned(),
        width_px: image.width_px,
        height_px: image.height_px,
        channels: image.channels,
        detections,
    }
}

/// What is found at each of some places, which hold images of one size.
fn search_batch(
    search: &Search,
    portion: &[ReadImage],
    places: &[usize],
) -> Vec<(usize, Result<Vec<Detection>>)> {
    let find = |places: &[usize]| -> Result<Vec<Vec<Detection>>> {
        let images = places
            .iter()
            .filter_map(|&place| portion[place].image.as_ref().ok());
        if let Some(image) = images.clone().next().filter(|image| search.is_large(image))
            && places.len() == 1
            && let Some(found) = search.find_large(image)?
        {
            return Ok(vec![found]);
        }
        let tensor = search.tensor(images)?;
        match search.selection {
            Selection::Strongest(k) => Ok(search.finder.find(tensor, &vec![k; places.len()])?),
            Selection::AtLeast(score) => {
                let found = search.finder.find_at_least(tensor, score)?;
                found.ok_or_else(|| {
                    let reason =
                        "this model does not tell how many objects there are: give --instances K";
                    Error::Usage(reason.to_owned())
                })
            }
        }
    };
    match find(places) {
        Ok(found) => places
            .iter()
            .copied()
            .zip(found.into_iter().map(Ok))
            .collect(),
        Err(error) if places.len() == 1 => vec![(places[0], Err(error))],
        // One by one, to tell the image that fails from those that do not.
        Err(_) => places
            .iter()
            .map(|&place| {
                let found = find(&[place]);
                (
                    place,
                    found.map(|mut found| found.pop().unwrap_or_default()),
                )
            })
            .collect(),
    }
}
