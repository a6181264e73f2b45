//! Models evaluated on images that they have not seen.

mod annotated;
mod counts;
mod mistakes;
mod proposals;
mod stored;

use burn::tensor::{Device, Tensor};
use mist::finder::Finder;
use mist::geometry::{Detection, Keypoint, Truth};
use mist::measurements::Measurements;
use mist::metrics::{
    Bootstrap, Evaluation, EvaluationConfig, Evidence, IMPULSE_RADIUS_PX, ImageResult, MatchCounts,
    MatchRule, SquaredError, impulse_of, kernel_corr,
};
use mist_data::{Dataset, GaborNoise};

pub use annotated::Annotated;
pub use mistakes::{confusion, over_scores, score_chart};
pub use proposals::ProposalFinder;
pub use stored::{EvaluateOptions, MIRRORED, PROPOSALS_ALONE, StoredEvaluation, evaluate};

use crate::batches;
use crate::error::Result;
use crate::features::FeatureCache;
use counts::CountPair;

/// Images taken at once.
const BATCH: u64 = 32;
/// Redrawn patches that are compared with the true kernel.
const KERNELS: usize = 1024;

/// What a model found in a data set, beside the truth.
#[derive(Clone, Debug, Default)]
pub struct Predictions {
    /// True and found boxes of each image.
    pub images: Vec<ImageResult>,
    /// Number of classes in the data set.
    classes: usize,
    /// True and found numbers of objects of each class, for images whose boxes are not known.
    counts: Vec<CountPair>,
    /// Whether truths are the boxes of all objects.
    boxes_are_known: bool,
    /// Whether the boxes have labels.
    labelled: bool,
    /// Whether K is the most that an image holds; then boxes only say where an object's centre is.
    at_most: bool,
    /// The model's K.
    instances: usize,
    /// Error of each redrawn image, for models that redraw.
    reconstructions: Vec<SquaredError>,
    /// Impulses found in each image, for Gabor noise.
    impulses: Vec<MatchCounts>,
    /// Correlation of the redrawn kernel with the true one.
    kernel_corr: Option<f64>,
}

/// Runs a model on the first `count` images of a data set; each image's K is the number of its objects, as in the paper's
/// tables.
///
/// # Errors
/// When the model cannot be run on these images.
pub fn predict(
    finder: &dyn Finder,
    dataset: &dyn Dataset,
    count: u64,
    device: &Device,
) -> Result<Predictions> {
    predict_with(finder, dataset, None, count, device)
}

/// As [`predict`], with features that are kept in the place of images. A model whose K is only the most that an image
/// holds is asked for as many in each image.
///
/// # Errors
/// As [`predict`].
pub fn predict_with(
    finder: &dyn Finder,
    dataset: &dyn Dataset,
    features: Option<&FeatureCache>,
    count: u64,
    device: &Device,
) -> Result<Predictions> {
    let count = dataset.len().map_or(count, |length| count.min(length));
    let most = dataset.max_instances().unwrap_or(finder.instances());
    let class_names = dataset.class_names();
    let mut predictions = Predictions {
        classes: class_names.len(),
        boxes_are_known: true,
        labelled: finder.classes().is_some(),
        at_most: finder.is_at_most(),
        instances: finder.instances(),
        ..Predictions::default()
    };
    let mut kernels = Kernels::default();
    let mut first = 0;
    while first < count {
        let taken = (count - first).min(BATCH) as usize;
        let k = vec![most; taken];
        let kept = match features {
            Some(features) => {
                let batch = batches::load_features(dataset, features, first, taken, device)?;
                let found = match &batch.features {
                    Some(features) => finder.find_in_features(features.clone(), &k)?,
                    None => None,
                };
                found.map(|found| (batch, found))
            }
            None => None,
        };
        let (batch, found) = match kept {
            Some(kept) => kept,
            None => {
                let channels = finder.channels();
                let (_, batch) = batches::load(dataset, first, taken, channels, device)?;
                // Where boxes are not known, models that say themselves how many there are do so.
                let own = match (&batch.truths, finder.least_score()) {
                    (None, Some(score)) => finder.find_at_least(batch.images.clone(), score)?,
                    _ => None,
                };
                let found = match own {
                    Some(found) => found,
                    None => finder.find(batch.images.clone(), &k)?,
                };
                (batch, found)
            }
        };
        let images = &batch.images;
        if let Some(redrawn) = finder.redraw(images.clone(), &found)? {
            // Images end at 0 and 1: bright objects that overlap sum to more, in the scene as in what is redrawn.
            let errors = squared_errors(images, &redrawn.clamp(0.0, 1.0))?;
            predictions.reconstructions.extend(errors);
        }
        first += taken as u64;
        let Some(truths) = &batch.truths else {
            predictions.boxes_are_known = false;
            if let Some(counts) = &batch.class_counts {
                let pairs = counts.iter().zip(&found);
                let names = &class_names;
                let pairs = pairs.map(|(counts, found)| CountPair::new(counts, found, names));
                predictions.counts.extend(pairs);
            }
            predictions
                .images
                .extend(found.into_iter().map(unknown_boxes));
            continue;
        };
        if let Some(noise) = dataset.noise() {
            let pairs = truths.iter().zip(&found);
            let counts = pairs.map(|(truths, found)| matched_impulses(truths, found));
            predictions.impulses.extend(counts);
            kernels.add(finder, images.clone(), &found, noise)?;
        }
        let pairs = truths.iter().zip(found);
        predictions
            .images
            .extend(pairs.map(|(truths, mut detections)| {
                if !finder.is_at_most() {
                    detections.truncate(truths.len());
                }
                ImageResult {
                    truths: truths.clone(),
                    detections,
                }
            }));
    }
    predictions.kernel_corr = kernels.correlation();
    Ok(predictions)
}

impl Predictions {
    /// All metrics; intervals where a bootstrap is given.
    pub fn evaluate(&self, bootstrap: Option<Bootstrap>) -> Evaluation {
        let config = EvaluationConfig {
            class_count: self.classes,
            rule: match self.labelled {
                true if self.at_most => MatchRule::Centre {
                    background: self.classes.saturating_sub(1),
                },
                true => MatchRule::Iou,
                false => MatchRule::IouUnlabelled,
            },
            official_k: Some(self.instances),
            bootstrap,
        };
        let evidence = Evidence {
            images: match self.boxes_are_known {
                true => &self.images,
                false => &[],
            },
            reconstructions: &self.reconstructions,
            impulses: &self.impulses,
            kernel_corr: self.kernel_corr,
        };
        let mut evaluation = Evaluation::new(evidence, &config);
        if self.at_most {
            evaluation.metrics = without_sizes(&evaluation.metrics);
            evaluation.intervals = without_sizes(&evaluation.intervals);
        }
        counts::insert_errors(&self.counts, &mut evaluation.metrics);
        evaluation
    }
}

/// The metrics that do not depend on the size of boxes, and average precision.
fn without_sizes<T: Copy>(metrics: &Measurements<T>) -> Measurements<T> {
    let of_sizes = [
        "iou50",
        "both",
        "scale_err",
        "classif_official",
        "_official",
    ];
    let kept = metrics.iter().filter(|(name, _)| {
        !of_sizes
            .iter()
            .any(|of_size| name.starts_with(of_size) || name.ends_with(of_size))
    });
    kept.map(|(name, value)| (name.to_owned(), *value))
        .collect()
}

/// What was found in an image whose true boxes are not known.
fn unknown_boxes(detections: Vec<Detection>) -> ImageResult {
    ImageResult {
        truths: Vec::new(),
        detections,
    }
}

/// Redrawn patches beside the kernel that Gabor noise repeats.
#[derive(Default)]
struct Kernels {
    redrawn: Vec<Vec<f32>>,
    truth: Vec<f32>,
}

impl Kernels {
    /// Takes the first channel of every redrawn patch.
    fn add(
        &mut self,
        finder: &dyn Finder,
        images: Tensor<4>,
        found: &[Vec<Detection>],
        noise: &GaborNoise,
    ) -> Result<()> {
        if self.redrawn.len() >= KERNELS || finder.classes().is_some() {
            return Ok(());
        }
        let Some(patches) = finder.patches(images, found)? else {
            return Ok(());
        };
        let Some(redrawn) = patches.redrawn else {
            return Ok(());
        };
        let [_, channels, height, width] = redrawn.dims();
        let values = redrawn.try_into_vec_as::<f32>()?;
        let planes = values.chunks_exact(channels * height * width);
        let planes = planes.map(|patch| patch[..height * width].to_vec());
        self.redrawn.extend(planes);
        self.truth = noise.kernel(f64::from(patches.shown_px), width).pixels;
        Ok(())
    }

    fn correlation(&self) -> Option<f64> {
        kernel_corr(&self.redrawn, &self.truth)
    }
}

/// Found impulses of one image, counted.
fn matched_impulses(truths: &[Truth], found: &[Detection]) -> MatchCounts {
    let centre = |(x_px, y_px): (f32, f32)| Keypoint {
        x_px,
        y_px,
        scale: 1.0,
    };
    let truths = truths.iter().map(|truth| centre(truth.bounds.centre_px()));
    let found = found.iter().map(|found| centre(found.bounds.centre_px()));
    let (truths, found): (Vec<_>, Vec<_>) = (truths.collect(), found.collect());
    impulse_of(&truths, &found, IMPULSE_RADIUS_PX)
}

/// The squared error of each image.
fn squared_errors(images: &Tensor<4>, redrawn: &Tensor<4>) -> Result<Vec<SquaredError>> {
    let [batch, ..] = images.dims();
    let read = |images: &Tensor<4>| images.clone().try_into_vec_as::<f32>();
    let (images, redrawn) = (read(images)?, read(redrawn)?);
    let length = images.len() / batch.max(1);
    let pairs = images
        .chunks_exact(length)
        .zip(redrawn.chunks_exact(length));
    pairs
        .map(|(expected, actual)| Ok(SquaredError::between(expected, actual)?))
        .collect()
}
