//! What a model's scores mean, and from which score on a maximum of the heatmap is taken for an object.

mod fit;
mod reliability;

use burn::tensor::Device;
use mist::finder::Finder;
use mist::geometry::{Detection, Truth};
use mist_data::Dataset;
use serde::{Deserialize, Serialize};

use crate::batches;
use crate::error::{Error, Result};
use fit::{best_threshold, isotonic};

pub use reliability::reliability_plot;

/// Images taken at once.
const BATCH: u64 = 32;
/// What is below is noise on every model: a flat heatmap responds more.
const LEAST_RESPONSE: f32 = 1e-3;
/// A box is right where it overlaps a true one this much, and bears its label if there are labels.
const RIGHT_IOU: f32 = 0.5;

/// A model's scores beside what was true, on held-out images whose true boxes are known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The data set of the images.
    pub dataset: String,
    /// How many.
    pub images: u64,
    /// Whether they differ in how many objects they have.
    pub varying_counts: bool,
    /// From this score on a maximum is taken for an object: where F1 is highest.
    pub least_score: f32,
    /// Ascending scores and the share of right boxes among those of about this score, which never falls.
    pub probabilities: Vec<(f32, f32)>,
    /// SHA-256 of the weights that it belongs to, in hexadecimal.
    pub weights_sha256: String,
}

/// A box and whether it is right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The heatmap's response.
    pub score: f32,
    /// Whether it is a true object, found once.
    pub right: bool,
}

impl Calibration {
    /// The probability that a box of a score is right: overlaps a true object by half, and bears its label.
    pub fn probability(&self, score: f32) -> f32 {
        let above = self
            .probabilities
            .partition_point(|(from, _)| *from <= score);
        match above.checked_sub(1) {
            Some(index) => self.probabilities[index].1,
            None => 0.0,
        }
    }

    /// Fits a calibration to judged boxes.
    ///
    /// # Errors
    /// When none is right.
    pub fn fit(judged: &[Judged], truths: usize) -> Result<(f32, Vec<(f32, f32)>)> {
        if !judged.iter().any(|judged| judged.right) {
            return Err(Error::Failed(
                "the model finds nothing on these images, so its scores mean nothing".to_owned(),
            ));
        }
        let mut sorted = judged.to_vec();
        sorted.sort_by(|a, b| a.score.total_cmp(&b.score));
        Ok((best_threshold(&sorted, truths), isotonic(&sorted)))
    }
}

/// What a model found in an image.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedImage {
    /// Its boxes, strongest first.
    pub boxes: Vec<Judged>,
    /// How many objects it has.
    pub truths: usize,
}

/// Boxes of a model in the first images of a data set, judged.
///
/// # Errors
/// When the model cannot be run on these images or does not tell scores, or true boxes are not known.
pub fn judge(
    finder: &dyn Finder,
    dataset: &dyn Dataset,
    count: u64,
    device: &Device,
) -> Result<Vec<JudgedImage>> {
    let count = dataset.len().map_or(count, |length| count.min(length));
    let labelled = finder.classes().is_some();
    let mut images = Vec::new();
    let mut first = 0;
    while first < count {
        let taken = (count - first).min(BATCH) as usize;
        let (_, batch) = batches::load(dataset, first, taken, finder.channels(), device)?;
        let truths = batch.truths()?;
        let found = finder
            .find_at_least(batch.images.clone(), LEAST_RESPONSE)?
            .ok_or_else(|| Error::Usage("this model's boxes have no scores".to_owned()))?;
        for (truths, found) in truths.iter().zip(&found) {
            images.push(JudgedImage {
                boxes: judge_image(truths, found, labelled),
                truths: truths.len(),
            });
        }
        first += taken as u64;
    }
    Ok(images)
}

/// Judges the boxes of an image, strongest first; each true object is found once.
fn judge_image(truths: &[Truth], found: &[Detection], labelled: bool) -> Vec<Judged> {
    let mut free = vec![true; truths.len()];
    let judge = |found: &Detection| {
        let overlap = |index: &usize| found.bounds.iou(truths[*index].bounds);
        let fits = |index: &usize| {
            let same = !labelled || truths[*index].label == found.label;
            free[*index] && same && overlap(index) >= RIGHT_IOU
        };
        let best = (0..truths.len())
            .filter(fits)
            .max_by(|a, b| overlap(a).total_cmp(&overlap(b)));
        if let Some(index) = best {
            free[index] = false;
        }
        Judged {
            score: found.score,
            right: best.is_some(),
        }
    };
    found.iter().map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_never_fall_and_nothing_is_known_below() {
        let judged: Vec<Judged> = [
            (0.1, false),
            (0.2, false),
            (0.3, true),
            (0.4, false),
            (0.9, true),
            (0.95, true),
        ]
        .map(|(score, right)| Judged { score, right })
        .to_vec();
        let (least_score, probabilities) = Calibration::fit(&judged, 3).unwrap();
        let calibration = Calibration {
            dataset: String::new(),
            images: 1,
            varying_counts: false,
            least_score,
            probabilities,
            weights_sha256: String::new(),
        };
        assert_eq!(least_score, 0.3);
        assert_eq!(calibration.probability(0.05), 0.0);
        assert_eq!(calibration.probability(0.35), 0.5);
        assert_eq!(calibration.probability(0.5), 0.5);
        assert_eq!(calibration.probability(1.0), 1.0);
        assert!(Calibration::fit(&judged[..2], 3).is_err());
    }
}
