//! Average precision at IoU .5 (the paper's Table 5), by the rules of the PASCAL VOC challenge.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use super::image_result::ImageResult;
use super::ranking::{CurvePoint, Ranking};

/// How the precision-recall curve is turned into a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpolation {
    /// The area under the curve after it was made monotone: VOC 2010 and later.
    #[default]
    AllPoints,
    /// The mean of the best precision at recalls of at least 0, .1, ..., 1: VOC 2007.
    ElevenPoint,
}

/// Average precision at IoU .5, mean over the classes that have truths, over the heatmap's score.
///
/// Detections of a class without any truth have no say. `None` without truths.
pub fn ap50<R: Borrow<ImageResult>>(images: &[R], interpolation: Interpolation) -> Option<f64> {
    RankedClasses::new(images).mean_ap(&vec![1; images.len()], interpolation)
}

/// As [`ap50`] with all classes taken for one. `None` without truths.
pub fn ap50_class_blind<R: Borrow<ImageResult>>(
    images: &[R],
    interpolation: Interpolation,
) -> Option<f64> {
    RankedClasses::blind(images).mean_ap(&vec![1; images.len()], interpolation)
}

/// A ranking for each class, made once for all bootstrap resamples.
pub(super) struct RankedClasses(Vec<Ranking>);

impl RankedClasses {
    pub(super) fn new<R: Borrow<ImageResult>>(images: &[R]) -> Self {
        let classes: BTreeSet<usize> = images
            .iter()
            .flat_map(|image| image.borrow().truths.iter().map(|truth| truth.label))
            .collect();
        Self(
            classes
                .into_iter()
                .map(|class| Ranking::new(images, Some(class)))
                .collect(),
        )
    }

    pub(super) fn blind<R: Borrow<ImageResult>>(images: &[R]) -> Self {
        Self(vec![Ranking::new(images, None)])
    }

    /// The mean over classes with truths, where image `i` counts `draws[i]` times.
    pub(super) fn mean_ap(&self, draws: &[usize], interpolation: Interpolation) -> Option<f64> {
        let mut sum = 0.0;
        let mut class_count = 0_usize;
        for ranking in &self.0 {
            let truth_count = ranking.truth_count(draws);
            if truth_count > 0 {
                sum += average_precision(&ranking.curve(draws), truth_count, interpolation);
                class_count += 1;
            }
        }
        (class_count > 0).then(|| sum / class_count as f64)
    }
}

fn average_precision(
    curve: &[CurvePoint],
    truth_count: usize,
    interpolation: Interpolation,
) -> f64 {
    match interpolation {
        Interpolation::AllPoints => area_under_envelope(curve, truth_count),
        Interpolation::ElevenPoint => eleven_point_mean(curve, truth_count),
    }
}

fn precision(point: &CurvePoint) -> f64 {
    point.right as f64 / point.taken as f64
}

/// From the right end, precision is replaced by the best at this recall or a higher one.
fn area_under_envelope(curve: &[CurvePoint], truth_count: usize) -> f64 {
    let mut envelope = 0.0_f64;
    let mut area = 0.0;
    for (index, point) in curve.iter().enumerate().rev() {
        envelope = envelope.max(precision(point));
        let right_before = if index == 0 {
            0
        } else {
            curve[index - 1].right
        };
        area += envelope * (point.right - right_before) as f64;
    }
    area / truth_count as f64
}

fn eleven_point_mean(curve: &[CurvePoint], truth_count: usize) -> f64 {
    let best_from = |tenths: usize| {
        // In whole numbers: 3 of 10 truths must reach a recall of .3.
        let reaches = |point: &&CurvePoint| 10 * point.right >= tenths * truth_count;
        curve
            .iter()
            .filter(reaches)
            .map(precision)
            .fold(0.0, f64::max)
    };
    (0..=10).map(best_from).sum::<f64>() / 11.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::samples::{detection, image, is_fraction, random_images, truth};
    use super::*;

    /// Truths of class 0 at 0, 10, 20, ... px; a detection hits the truth of its number, or
    /// nothing.
    fn scene(truth_count: u8, detections: &[(Option<u8>, f32)]) -> ImageResult {
        let x_px = |number: u8| 10.0 * f32::from(number);
        let truths: Vec<_> = (0..truth_count)
            .map(|n| truth(x_px(n), 0.0, x_px(n) + 1.0, 1.0, 0))
            .collect();
        let found: Vec<_> = detections
            .iter()
            .map(|&(number, score)| {
                let x_px = number.map_or(-50.0, x_px);
                detection(x_px, 0.0, x_px + 1.0, 1.0, 0, score)
            })
            .collect();
        image(&truths, &found)
    }

    #[test]
    fn worked_example() {
        // By score: right, wrong, right; the third truth is never found. Points (recall,
        // precision): (1/3, 1), (1/3, 1/2), (2/3, 2/3). Area: 1/3 * 1 + 1/3 * 2/3 = 5/9.
        let seen = [scene(3, &[(Some(0), 0.9), (None, 0.8), (Some(1), 0.7)])];
        let all_points = ap50(&seen, Interpolation::AllPoints).unwrap();
        assert!((all_points - 5.0 / 9.0).abs() < 1e-15);
        // Recalls 0 to .3 reach precision 1 (4 of them), .4 to .6 reach 2/3 (3), the rest 0: 6/11.
        let eleven = ap50(&seen, Interpolation::ElevenPoint).unwrap();
        assert!((eleven - 6.0 / 11.0).abs() < 1e-15);
    }

    #[test]
    fn the_envelope_lifts_a_wrong_first_detection() {
        // Wrong, right, right: points (0, 0), (1/2, 1/2), (1, 2/3); the envelope is 2/3 throughout.
        let seen = [scene(2, &[(None, 0.9), (Some(0), 0.8), (Some(1), 0.7)])];
        assert!((ap50(&seen, Interpolation::AllPoints).unwrap() - 2.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn classes_are_averaged_or_ignored() {
        // Class 0 found (AP 1), class 1 found as class 0 (AP 0); class 2 has no truth.
        let mut seen = scene(2, &[(Some(0), 0.9), (Some(1), 0.8)]);
        seen.truths[1].label = 1;
        seen.detections
            .push(detection(90.0, 0.0, 91.0, 1.0, 2, 0.1));
        assert_eq!(ap50(&[&seen], Interpolation::AllPoints), Some(0.5));
        assert_eq!(
            ap50_class_blind(&[&seen], Interpolation::AllPoints),
            Some(1.0)
        );
    }

    #[test]
    fn empty_lists_are_defined() {
        assert_eq!(ap50::<ImageResult>(&[], Interpolation::AllPoints), None);
        assert_eq!(
            ap50_class_blind(&[scene(0, &[(None, 0.5)])], Interpolation::AllPoints),
            None
        );
        assert_eq!(
            ap50(&[scene(2, &[])], Interpolation::ElevenPoint),
            Some(0.0)
        );
    }

    fn both_interpolations() -> [Interpolation; 2] {
        [Interpolation::AllPoints, Interpolation::ElevenPoint]
    }

    proptest! {
        #[test]
        fn a_fraction_that_order_does_not_change_where_scores_differ(
            mut images in random_images()
        ) {
            for interpolation in both_interpolations() {
                prop_assert!(is_fraction(ap50(&images, interpolation)));
                prop_assert!(is_fraction(ap50_class_blind(&images, interpolation)));
            }
            // Ties rank by order, so the scores are made distinct first.
            let mut score = 0.0;
            for detection in images.iter_mut().flat_map(|image| &mut image.detections) {
                score += 1.0;
                detection.score = score;
            }
            let value = ap50_class_blind(&images, Interpolation::AllPoints);
            images.reverse();
            for image in &mut images {
                image.detections.reverse();
            }
            prop_assert_eq!(ap50_class_blind(&images, Interpolation::AllPoints), value);
        }

        #[test]
        fn drawing_every_image_twice_changes_nothing(images in random_images()) {
            let ranked = RankedClasses::new(&images);
            for interpolation in both_interpolations() {
                let once = ranked.mean_ap(&vec![1; images.len()], interpolation);
                let twice = ranked.mean_ap(&vec![2; images.len()], interpolation);
                prop_assert!(once.zip(twice).is_none_or(|(a, b)| (a - b).abs() < 1e-12));
                prop_assert_eq!(once.is_some(), twice.is_some());
            }
        }
    }
}
