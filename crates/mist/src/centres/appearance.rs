//! What classes look like, learnt from nothing but how often each occurs in an image.
//!
//! Each class is a Gaussian over simple features of a disc: its colours, how much they vary, and its size. Labels and
//! Gaussians are improved in turn (hard expectation maximisation): in each image as many discs get a label as were counted,
//! and the rest is background. From bad starts it ends badly, so that several are tried and the likeliest end is kept. A mean
//! of predictions, as the paper compares it, cannot tell who is meant where every image holds one object of a class: one that
//! is in any of twenty places with a probability of 1/20 satisfies it.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::assign::assign;
use crate::geometry::Keypoint;
use crate::proposals::Plane;

const STARTS: usize = 24;
const ROUNDS: usize = 30;
/// Share of a disc's radius that its features are of.
const INNER_FRAC: f32 = 0.9;
/// Features vary at least by this share of their variance over all discs.
const MIN_VARIANCE: f32 = 0.05;
/// A class of fewer discs keeps its Gaussian.
const MIN_MEMBERS: usize = 4;

/// Mean and standard deviation of each plane within a disc, and the logarithm of its size.
pub(super) fn features(planes: &[Plane], keypoint: &Keypoint, base_box_px: f32) -> Vec<f32> {
    let radius_px = (keypoint.scale * base_box_px / 2.0 * INNER_FRAC).max(1.0);
    let mut features = Vec::with_capacity(2 * planes.len() + 1);
    for plane in planes {
        let span = |centre_px: f32, side: usize| {
            let first = (centre_px - radius_px).max(0.0) as usize;
            first.min(side)..((centre_px + radius_px).ceil() as usize).min(side)
        };
        let (mut count, mut sum, mut squares) = (0.0f32, 0.0f32, 0.0f32);
        for y in span(keypoint.y_px, plane.height_px()) {
            for x in span(keypoint.x_px, plane.width_px) {
                let away = (x as f32 + 0.5 - keypoint.x_px).hypot(y as f32 + 0.5 - keypoint.y_px);
                if away <= radius_px {
                    let value = plane.values[y * plane.width_px + x];
                    count += 1.0;
                    sum += value;
                    squares += value * value;
                }
            }
        }
        let mean = sum / count.max(1.0);
        let variance = squares / count.max(1.0) - mean * mean;
        features.extend([mean, variance.max(0.0).sqrt()]);
    }
    features.push(keypoint.scale.max(f32::MIN_POSITIVE).log2());
    features
}

/// The discs of an image and how many objects of each class it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CountedDiscs {
    pub features: Vec<Vec<f32>>,
    pub counts: Vec<usize>,
}

/// A Gaussian per class, and one for what is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Appearances(Vec<Gaussian>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Gaussian {
    means: Vec<f32>,
    variances: Vec<f32>,
}

impl Gaussian {
    fn of(members: &[&Vec<f32>], least: &[f32]) -> Self {
        let count = members.len().max(1) as f32;
        let mean = |feature: usize| members.iter().map(|m| m[feature]).sum::<f32>() / count;
        let means: Vec<f32> = (0..least.len()).map(mean).collect();
        let variance = |(feature, (mean, least)): (usize, (&f32, &f32))| {
            let squares = members.iter().map(|m| (m[feature] - mean).powi(2));
            squares.sum::<f32>() / count + least
        };
        let variances = means.iter().zip(least).enumerate().map(variance).collect();
        Self { means, variances }
    }

    fn log_likelihood(&self, features: &[f32]) -> f32 {
        let pairs = features.iter().zip(self.means.iter().zip(&self.variances));
        let terms = pairs.map(|(value, (mean, variance))| {
            -0.5 * ((value - mean).powi(2) / variance + variance.ln())
        });
        terms.sum()
    }
}

impl Appearances {
    /// What the classes of some images look like, which all have counts of the same classes; the same for the same numbers
    /// drawn.
    pub fn fit(images: &[CountedDiscs], random: &mut ChaCha8Rng) -> Self {
        let discs: Vec<&Vec<f32>> = images.iter().flat_map(|image| &image.features).collect();
        let classes = images.first().map_or(0, |image| image.counts.len());
        let features = discs.first().map_or(0, |disc| disc.len());
        let all = Gaussian::of(&discs, &vec![f32::MIN_POSITIVE; features]);
        let least: Vec<f32> = all
            .variances
            .iter()
            .map(|variance| (variance * MIN_VARIANCE).max(f32::MIN_POSITIVE))
            .collect();
        let mut best = (f32::NEG_INFINITY, Self(vec![all.clone(); classes + 1]));
        if discs.is_empty() {
            return best.1;
        }
        for _ in 0..STARTS {
            let gaussian = |_| Gaussian {
                means: discs[random.random_range(0..discs.len())].clone(),
                variances: all.variances.clone(),
            };
            let mut fitted = Self((0..=classes).map(gaussian).collect());
            let mut likelihood = f32::NEG_INFINITY;
            for _ in 0..ROUNDS {
                let labels: Vec<usize> = images
                    .iter()
                    .flat_map(|image| fitted.labels(&image.features, &image.counts))
                    .collect();
                let pairs = || discs.iter().zip(&labels);
                let before = likelihood;
                likelihood = pairs()
                    .map(|(disc, &label)| fitted.0[label].log_likelihood(disc))
                    .sum();
                if likelihood == before {
                    break;
                }
                for (label, gaussian) in fitted.0.iter_mut().enumerate() {
                    let own = pairs().filter(|pair| *pair.1 == label);
                    let members: Vec<&Vec<f32>> = own.map(|(disc, _)| *disc).collect();
                    if members.len() >= MIN_MEMBERS {
                        *gaussian = Gaussian::of(&members, &least);
                    }
                }
            }
            if likelihood > best.0 {
                best = (likelihood, fitted);
            }
        }
        best.1
    }

    /// The labels of an image's discs; that after the last class for what is none.
    pub fn labels(&self, features: &[Vec<f32>], counts: &[usize]) -> Vec<usize> {
        let gains = |disc: &Vec<f32>| {
            let likelihoods: Vec<f32> = self.0.iter().map(|g| g.log_likelihood(disc)).collect();
            let none = likelihoods.last().copied().unwrap_or(0.0);
            likelihoods.iter().map(|own| own - none).collect()
        };
        assign(&features.iter().map(gains).collect::<Vec<_>>(), counts)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    /// In every image one disc of class 1 among those of class 0, and clutter.
    fn images() -> (Vec<CountedDiscs>, Vec<Vec<usize>>) {
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let mut truths = Vec::new();
        let images = (0..30).map(|_| {
            let counts = vec![random.random_range(3..9), 1];
            let clutter = random.random_range(0..4usize);
            let labels: Vec<usize> = std::iter::repeat_n(0, counts[0])
                .chain([1])
                .chain(std::iter::repeat_n(2, clutter))
                .collect();
            let disc = |label: &usize| {
                let centre = [[0.2, 0.4], [0.7, 0.1], [0.1, 0.1]][*label];
                centre
                    .map(|value| value + random.random_range(-0.05..0.05f32))
                    .to_vec()
            };
            let features = labels.iter().map(disc).collect();
            truths.push(labels);
            CountedDiscs { features, counts }
        });
        (images.collect(), truths)
    }

    #[test]
    fn a_class_that_is_once_in_every_image_is_told_from_the_others() {
        let (images, truths) = images();
        let fitted = Appearances::fit(&images, &mut ChaCha8Rng::seed_from_u64(1));
        for (image, truth) in images.iter().zip(&truths) {
            assert_eq!(&fitted.labels(&image.features, &image.counts), truth);
        }
        let again = Appearances::fit(&images, &mut ChaCha8Rng::seed_from_u64(1));
        assert_eq!(fitted, again);
    }

    #[test]
    fn features_are_of_the_disc_alone() {
        let plane = Plane {
            values: (0..400).map(|place| f32::from(place % 20 < 10)).collect(),
            width_px: 20,
        };
        let keypoint = |x_px| Keypoint {
            x_px,
            y_px: 10.0,
            scale: 0.5,
        };
        assert_eq!(
            features(std::slice::from_ref(&plane), &keypoint(5.0), 16.0),
            [1.0, 0.0, -1.0]
        );
        let between = features(std::slice::from_ref(&plane), &keypoint(10.0), 16.0);
        assert_eq!(between, [0.5, 0.5, -1.0]);
        assert!(features(&[plane], &keypoint(-90.0), 16.0)[0] == 0.0);
        let no_discs = Appearances::fit(&[], &mut ChaCha8Rng::seed_from_u64(1));
        assert!(no_discs.labels(&[], &[]).is_empty());
    }
}
