//! A model's calibration, in `calibration.json` beside its `config.json` or in its run directory.

use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use mist::extract::Selection;
use mist_data::Dataset;

use super::{Loaded, checksum};
use crate::calibration::{Calibration, Judged, JudgedImage, judge, reliability_plot};
use crate::detections::Instances;
use crate::error::{AtPath, Error, Result};
use crate::run::whole_file;

const FILE: &str = "calibration.json";

fn file(model: &Path) -> PathBuf {
    model.join(FILE)
}

/// The calibration of these weights, if there is one: that of other weights of the same run says nothing.
pub(super) fn read(model: &Path, weights: &[u8]) -> Result<Option<Calibration>> {
    let path = file(model);
    if !path.is_file() {
        return Ok(None);
    }
    let text = fs::read(&path).at("read", &path)?;
    let calibration: Calibration =
        serde_json::from_slice(&text).map_err(|error| Error::input(&path, error))?;
    let fits = calibration.weights_sha256 == checksum::of_bytes(weights);
    Ok(fits.then_some(calibration))
}

/// Writes a calibration that was found for other bytes of the same weights.
pub(super) fn copy(directory: &Path, calibration: &Calibration, weights: &[u8]) -> Result<()> {
    let own = Calibration {
        weights_sha256: checksum::of_bytes(weights),
        ..calibration.clone()
    };
    whole_file::write(&file(directory), &serde_json::to_vec_pretty(&own)?)
}

/// Calibrates a model on the first images of a held-out data set, and keeps the calibration with it.
///
/// The first half of the images gives the probabilities, the second shows in the plot how well they hold.
///
/// # Errors
/// When the model cannot be run on them or finds nothing, or true boxes are not known.
pub fn calibrate(
    model: &Path,
    loaded: &Loaded,
    dataset: &dyn Dataset,
    count: u64,
    device: &Device,
) -> Result<(Calibration, String)> {
    let weights = fs::read(&loaded.weights).at("read", &loaded.weights)?;
    let finder = loaded.finder.as_ref();
    let images = judge(finder, dataset, count, device)?;
    let (fitted, held_out) = images.split_at(images.len().div_ceil(2));
    let boxes = |images: &[JudgedImage]| -> Vec<Judged> {
        let boxes = images.iter().flat_map(|image| &image.boxes);
        boxes.copied().collect()
    };
    let truths = fitted.iter().map(|image| image.truths).sum();
    let (least_score, probabilities) = Calibration::fit(&boxes(fitted), truths)?;
    let calibration = Calibration {
        dataset: dataset.name().to_owned(),
        images: fitted.len() as u64,
        varying_counts: images
            .windows(2)
            .any(|pair| pair[0].truths != pair[1].truths),
        least_score,
        probabilities,
        weights_sha256: checksum::of_bytes(&weights),
    };
    copy(model, &calibration, &weights)?;
    let plot = reliability_plot(&calibration, &boxes(held_out));
    Ok((calibration, plot))
}

impl Loaded {
    /// Which objects are looked for: as asked, else those above the calibrated score where the number of objects varies,
    /// or above the model's own where it has one, else the K that the model was trained for.
    ///
    /// # Errors
    /// When `auto` is asked of a model without a calibration.
    pub(crate) fn selection(&self, instances: Option<Instances>) -> Result<Selection> {
        let auto = self
            .calibration
            .as_ref()
            .map(|calibration| (calibration.least_score, calibration.varying_counts));
        let own = self.finder.least_score().map(|score| (score, true));
        match (instances, auto.or(own)) {
            (Some(Instances::Exactly(instances)), _) => Ok(Selection::Strongest(instances)),
            (Some(Instances::Auto), Some((score, _))) | (None, Some((score, true))) => {
                Ok(Selection::AtLeast(score))
            }
            (Some(Instances::Auto), None) => Err(Error::Usage(
                "this model has no calibration, so that nothing says which scores are objects: \
                 run `mist calibrate MODEL`, or give --instances K"
                    .to_owned(),
            )),
            (None, _) => Ok(Selection::Strongest(self.finder.instances())),
        }
    }
}
