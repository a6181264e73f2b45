//! Results that stay in memory.

use std::path::PathBuf;

use burn::tensor::Device;
use mist::extract::Selection;
use mist::large::LargeSearch;

use super::batches::Input;
use super::inputs::{list_images, no_images};
use super::pictures::Pictures;
use super::stream::{Results, Search, search_all};
use super::{DetectedImage, Instances};
use crate::error::{Error, Result};
use crate::models::Loaded;
use crate::observer::Observer;

#[derive(Default)]
struct Collected(Vec<DetectedImage>);

impl Results for Collected {
    fn found(&mut self, image: &DetectedImage) -> Result<()> {
        self.0.push(image.clone());
        Ok(())
    }

    fn failed(&mut self, _: Input, reason: &str) -> Result<()> {
        Err(Error::Failed(reason.to_owned()))
    }
}

/// What a model finds in files, folders and patterns, as [`detect`](super::detect) does with as many `instances`.
///
/// # Errors
/// When there are none, or one cannot be read or searched.
pub(crate) fn find_in_files(
    loaded: &Loaded,
    images: &[PathBuf],
    instances: Option<Instances>,
    device: &Device,
    observer: &mut dyn Observer,
) -> Result<Vec<DetectedImage>> {
    let inputs = list_images(images);
    if let Some(failure) = inputs.failures.first() {
        return Err(Error::Failed(failure.to_string()));
    }
    if inputs.files.is_empty() {
        return Err(no_images(images));
    }
    let selection = loaded.selection(instances)?;
    let search = Search {
        finder: loaded.finder.as_ref(),
        class_names: &loaded.card.class_names,
        foreground: loaded.card.foreground,
        selection,
        large: LargeSearch::default(),
        calibration: match selection {
            Selection::AtLeast(_) => loaded.calibration.as_ref(),
            Selection::Strongest(_) => None,
        },
        pictures: Pictures::default(),
        device,
    };
    let files = (0..).zip(&inputs.files);
    let chosen: Vec<Input> = files
        .map(|(index, path)| Input {
            index,
            path,
            stem: "",
        })
        .collect();
    let mut collected = Collected::default();
    search_all(
        &search,
        chosen.into_iter(),
        &mut collected,
        observer,
        &|| None,
    )?;
    Ok(collected.0)
}
