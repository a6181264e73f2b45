//! All metrics of a test set at once, with their intervals.

use std::iter::Sum;

use serde::{Deserialize, Serialize};

use super::average_precision::{Interpolation, RankedClasses};
use super::bootstrap::{Bootstrap, Interval};
use super::both::both_of;
use super::centre::centre_of;
use super::classif::{classif_of, classif_official_of};
use super::count_mae::{count_error_of, total_count_error_of};
use super::image_result::ImageResult;
use super::iou50::iou50_of;
use super::one_to_one::{LabelRule, one_to_one_of};
use super::ratio::{MatchCounts, Ratio};
use super::rmse::SquaredError;
use super::scale_err::scale_err_of;
use crate::measurements::Measurements;

/// When a detection counts as right in precision, recall and F1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchRule {
    /// Equal label and IoU of at least .5, matched one-to-one at the greatest total IoU (by the
    /// official variant: greedily, in the order of the truths).
    Iou,
    /// IoU of at least .5 alone, for models that give no labels; metrics of labels are absent.
    IouUnlabelled,
    /// Equal label and centre inside the true box, as for natural images (Table 4).
    Centre {
        /// The class that stands for no object; it is left out of every metric.
        background: usize,
    },
}

/// How a test set is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvaluationConfig {
    /// Number of classes, background included, over which errors of counts are averaged.
    pub class_count: usize,
    /// The rule for precision, recall and F1.
    pub rule: MatchRule,
    /// The K beyond which the official variants do not see truths; `None` shows them all.
    pub official_k: Option<usize>,
    /// The resampling behind the intervals; `None` for no intervals.
    pub bootstrap: Option<Bootstrap>,
}

/// What is evaluated; lists that a task does not have stay empty, and so do their metrics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence<'a> {
    /// True and detected boxes of each image.
    pub images: &'a [ImageResult],
    /// Error of each image's reconstruction.
    pub reconstructions: &'a [SquaredError],
    /// Matched impulses of each image.
    pub impulses: &'a [MatchCounts],
    /// What [`kernel_corr`](super::kernel_corr) gave.
    pub kernel_corr: Option<f64>,
}

/// The metrics of a test set and their 95% intervals.
///
/// | name | metric |
/// |---|---|
/// | `rmse` | root mean square error of reconstructions (Table 1) |
/// | `iou50` | share of truths that some detection covers (Tables 2 and 3) |
/// | `classif` | share of truths accounted for by the counts of classes (Tables 2 and 3) |
/// | `both` | share of truths found and classified (Tables 2 and 3) |
/// | `ap50`, `ap50_class_blind` | average precision at IoU .5, mean over classes (Table 5), or of all classes as one |
/// | `precision`, `recall`, `f1` | under the chosen matching rule (Table 4 for natural images) |
/// | `count_mae`, `count_mae_total` | mean absolute error of the counts by class, and of the total |
/// | `impulse_precision`, `impulse_recall`, `impulse_f1` | found impulses of Gabor noise |
/// | `kernel_corr` | correlation of the learnt kernel with the true one |
/// | `scale_err` | mean absolute log-ratio of matched boxes' sides, in nats |
///
/// The suffix `_official` marks the released evaluator's variant: it sees the first K truths of an image, and misses of
/// class 0 are free in `classif_official`. Metrics that the evidence does not allow are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The values.
    pub metrics: Measurements,
    /// Their intervals.
    pub intervals: Measurements<Interval>,
}

impl Evaluation {
    /// Computes every metric that the evidence allows.
    pub fn new(evidence: Evidence<'_>, config: &EvaluationConfig) -> Self {
        let foreground: Vec<ImageResult>;
        let images = match config.rule {
            MatchRule::Iou | MatchRule::IouUnlabelled => evidence.images,
            MatchRule::Centre { background } => {
                foreground = evidence
                    .images
                    .iter()
                    .map(|image| image.without_label(background))
                    .collect();
                foreground.as_slice()
            }
        };
        let kept: Vec<_> = images
            .iter()
            .map(|image| image.with_first_truths(config.official_k))
            .collect();

        let estimator = Estimator(config.bootstrap);
        let both = per_image(images, both_of);
        let both_official = per_image(&kept, both_of);
        let (matches, matches_official) = match config.rule {
            MatchRule::Iou => (
                per_image(images, |image| one_to_one_of(image, 0.5, LabelRule::Equal)),
                both_official.clone(),
            ),
            MatchRule::IouUnlabelled => {
                let place = |image: &ImageResult| one_to_one_of(image, 0.5, LabelRule::Ignored);
                (per_image(images, place), per_image(&kept, place))
            }
            MatchRule::Centre { background } => (
                per_image(images, |image| centre_of(image, background)),
                per_image(&kept, |image| centre_of(image, background)),
            ),
        };
        let ratio = |images: &[ImageResult], of: &dyn Fn(&ImageResult) -> Ratio| {
            estimator.sums(&per_image(images, of), Ratio::value)
        };
        let labelled = config.rule != MatchRule::IouUnlabelled;
        let of_labels = |estimate: Option<Estimate>| estimate.filter(|_| labelled);
        let estimates = [
            (
                "rmse",
                estimator.sums(evidence.reconstructions, SquaredError::rmse),
            ),
            ("iou50", ratio(images, &iou50_of)),
            ("iou50_official", ratio(&kept, &iou50_of)),
            ("classif", of_labels(ratio(images, &classif_of))),
            (
                "classif_official",
                of_labels(ratio(&kept, &|image| classif_official_of(image, None))),
            ),
            (
                "both",
                of_labels(estimator.sums(&both, MatchCounts::recall)),
            ),
            (
                "both_official",
                of_labels(estimator.sums(&both_official, MatchCounts::recall)),
            ),
            (
                "ap50",
                of_labels(estimator.average_precision(images.len(), &RankedClasses::new(images))),
            ),
            (
                "ap50_class_blind",
                estimator.average_precision(images.len(), &RankedClasses::blind(images)),
            ),
            (
                "precision",
                estimator.sums(&matches, MatchCounts::precision),
            ),
            ("recall", estimator.sums(&matches, MatchCounts::recall)),
            ("f1", estimator.sums(&matches, MatchCounts::f1)),
            (
                "precision_official",
                estimator.sums(&matches_official, MatchCounts::precision),
            ),
            (
                "recall_official",
                estimator.sums(&matches_official, MatchCounts::recall),
            ),
            (
                "f1_official",
                estimator.sums(&matches_official, MatchCounts::f1),
            ),
            (
                "count_mae",
                of_labels(ratio(images, &|image| {
                    count_error_of(image, config.class_count)
                })),
            ),
            ("count_mae_total", ratio(images, &total_count_error_of)),
            (
                "impulse_precision",
                estimator.sums(evidence.impulses, MatchCounts::precision),
            ),
            (
                "impulse_recall",
                estimator.sums(evidence.impulses, MatchCounts::recall),
            ),
            (
                "impulse_f1",
                estimator.sums(evidence.impulses, MatchCounts::f1),
            ),
            (
                "kernel_corr",
                evidence.kernel_corr.map(|value| Estimate {
                    value,
                    interval: None,
                }),
            ),
            (
                "scale_err",
                ratio(images, &|image| scale_err_of(image, 0.5)),
            ),
        ];
        let mut evaluation = Self::default();
        for (name, estimate) in estimates {
            let Some(Estimate { value, interval }) = estimate else {
                continue;
            };
            evaluation.metrics.insert(name, value);
            if let Some(interval) = interval {
                evaluation.intervals.insert(name, interval);
            }
        }
        evaluation
    }
}

fn per_image<T>(images: &[ImageResult], of: impl Fn(&ImageResult) -> T) -> Vec<T> {
    images.iter().map(of).collect()
}

struct Estimate {
    value: f64,
    interval: Option<Interval>,
}

/// Gives each value its interval.
struct Estimator(Option<Bootstrap>);

impl Estimator {
    fn sums<T: Copy + Sum>(
        &self,
        per_image: &[T],
        value: impl Fn(T) -> Option<f64>,
    ) -> Option<Estimate> {
        Some(Estimate {
            value: value(per_image.iter().copied().sum())?,
            interval: self
                .0
                .and_then(|bootstrap| bootstrap.interval_of_sums(per_image, value)),
        })
    }

    fn average_precision(&self, image_count: usize, ranked: &RankedClasses) -> Option<Estimate> {
        let ap = |draws: &[usize]| ranked.mean_ap(draws, Interpolation::AllPoints);
        let mut draws = vec![1; image_count];
        let value = ap(&draws)?;
        let interval = self.0.and_then(|bootstrap| {
            bootstrap.interval_of_draws(image_count, |drawn| {
                draws.fill(0);
                drawn.iter().for_each(|&image| draws[image] += 1);
                ap(&draws)
            })
        });
        Some(Estimate { value, interval })
    }
}
