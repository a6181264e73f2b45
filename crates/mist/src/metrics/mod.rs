//! Metrics of the paper's Tables 1 to 5, the released evaluator's variants of them, and a few
//! beside.
//!
//! Most metrics come as a pair: `name_of` gives what one image adds to the sums (a [`Ratio`] or
//! [`MatchCounts`]), `name` the value over all images, pooled before the division. The former are
//! what [`Bootstrap`] resamples. [`Evaluation`] computes them all at once.
//!
//! No input makes them panic or give NaN: what is undefined, such as a share of no truths, is
//! `None`, and boxes that are not finite match nothing.

mod assignment;
mod average_precision;
mod bootstrap;
mod both;
mod centre;
mod class_counts;
mod classif;
mod count_mae;
mod evaluation;
mod image_result;
mod impulse;
mod iou50;
mod kernel_corr;
mod one_to_one;
mod pairing;
mod ranking;
mod ratio;
mod rmse;
mod scale_err;

#[cfg(test)]
mod evaluation_tests;
#[cfg(test)]
mod samples;

pub use average_precision::{Interpolation, ap50, ap50_class_blind};
pub use bootstrap::{Bootstrap, Interval};
pub use both::{both, both_of, both_official};
pub use centre::{centre, centre_of, centre_pairs};
pub use classif::{classif, classif_of, classif_official, classif_official_of};
pub use count_mae::{count_error_of, count_mae, total_count_error_of, total_count_mae};
pub use evaluation::{Evaluation, EvaluationConfig, Evidence, MatchRule};
pub use image_result::ImageResult;
pub use impulse::{IMPULSE_RADIUS_PX, impulse_of, impulse_pairs};
pub use iou50::{iou50, iou50_of, iou50_official};
pub use kernel_corr::kernel_corr;
pub use one_to_one::{LabelRule, one_to_one, one_to_one_of, one_to_one_pairs};
pub use pairing::Pair;
pub use ratio::{MatchCounts, Ratio};
pub use rmse::{PixelError, SquaredError};
pub use scale_err::{scale_err, scale_err_of};
