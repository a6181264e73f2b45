//! Differentiable top-k: masks in `0..1` that sum to k, with gradients, in the place of a selection.
//!
//! Four operators behind one interface: optimal transport to two anchors (Xie et al., 2020), by Sinkhorn's iterations and in
//! closed form; sums of Laplace distributions (LapSum, 2025); and the mean selection of perturbed scores (Cordonnier et al.,
//! 2021).

mod closed_form;
mod lap_sum;
mod perturbed;
mod sinkhorn;

use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::settings::{Bounds, within};

const MOST_ITERATIONS: usize = 1_000_000;
const MOST_SAMPLES: usize = 100_000;

/// An operator; how soft its masks are is given with each call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum SoftTopK {
    /// Entropic optimal transport of the scores to the anchors 0 and 1, solved exactly; softness is the weight of the entropy.
    #[default]
    ClosedForm,
    /// The same by Sinkhorn's iterations, in the log domain for a softness below 0.01.
    Sinkhorn {
        /// How many.
        iterations: usize,
    },
    /// `m_i = F((x_i - b) / softness)` with the distribution function F of Laplace, b found in O(n log n).
    LapSum,
    /// The share of noisy copies of the scores in which a score is among the k largest; softness is the noise's deviation.
    Perturbed {
        /// Noisy copies.
        samples: usize,
    },
}

/// Masks of one image, and their derivatives `dm_i = slope_i (dx_i - sum_j share_j dx_j)`.
#[derive(Clone, Debug, PartialEq)]
pub struct SoftMasks {
    /// How much each score is among the k largest.
    pub masks: Vec<f64>,
    /// How fast a mask follows its own score.
    pub slopes: Vec<f64>,
    /// How much each score moves the threshold; they sum to 1.
    pub shares: Vec<f64>,
}

impl SoftMasks {
    /// From densities `w_i`: slopes `c w_i` and shares `w_i / sum w`.
    fn new(masks: Vec<f64>, densities: &[f64], c: f64) -> Self {
        let total = densities.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        Self {
            masks,
            slopes: densities.iter().map(|density| c * density).collect(),
            shares: densities.iter().map(|density| density / total).collect(),
        }
    }
}

impl SoftTopK {
    /// Refuses impossible settings.
    ///
    /// # Errors
    /// When a number is out of range.
    pub fn check(&self) -> Result<(), Error> {
        match *self {
            Self::ClosedForm | Self::LapSum => Ok(()),
            Self::Sinkhorn { iterations } => {
                Bounds::new("top_k.sinkhorn.iterations", 1, MOST_ITERATIONS).check(iterations)
            }
            Self::Perturbed { samples } => {
                Bounds::new("top_k.perturbed.samples", 1, MOST_SAMPLES).check(samples)
            }
        }
    }

    /// Masks of each image's scores, with their gradients; noise depends on `seed` and `step` alone.
    ///
    /// # Shapes
    /// - `scores` and output: `[batch, places]`
    ///
    /// # Errors
    /// When `k` is not below the number of places, the softness is not positive, or the device cannot be read.
    ///
    /// # Example
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use mist::soft_top_k::SoftTopK;
    ///
    /// let scores = Tensor::<2>::from_data([[0.1, 0.9, 0.2, 0.8]], &Device::flex());
    /// let masks = SoftTopK::ClosedForm.masks(scores, 2, 0.01, 0, 0)?;
    /// let masks = masks.try_into_vec_as::<f32>()?;
    /// assert!(masks[1] > 0.99 && masks[3] > 0.99 && masks[0] < 0.01);
    /// # Ok::<(), mist::Error>(())
    /// ```
    pub fn masks(
        &self,
        scores: Tensor<2>,
        k: usize,
        softness: f32,
        seed: u64,
        step: u64,
    ) -> Result<Tensor<2>, Error> {
        let [batch, places] = scores.dims();
        if k == 0 || k >= places {
            return Err(Error::Setting {
                name: "instances",
                requirement: format!("from 1 to {}, fewer than places", places.saturating_sub(1))
                    .into(),
            });
        }
        within([("epsilon", softness, 1e-6..=1e6)])?;
        let plain = scores.clone().detach().inner().try_into_vec_as::<f32>()?;
        if let Self::Perturbed { samples } = *self {
            let noisy =
                perturbed::Selections::new(&plain, places, k, softness, samples, seed, step);
            return Ok(noisy.masks(scores));
        }
        let mut columns = [const { Vec::<f32>::new() }; 3];
        for image in plain.chunks_exact(places) {
            let found = self.masks_of(image, k, f64::from(softness));
            let parts = [found.masks, found.slopes, found.shares];
            for (column, part) in columns.iter_mut().zip(parts) {
                column.extend(part.into_iter().map(|value| value as f32));
            }
        }
        let device = scores.device();
        let [masks, slopes, shares] = columns.map(|values| {
            Tensor::<2>::from_data(TensorData::new(values, [batch, places]), &device)
        });
        // Zero, with a gradient.
        let moved = scores.clone() - scores.detach();
        let threshold = (moved.clone() * shares).sum_dim(1);
        Ok(masks + (moved - threshold) * slopes)
    }

    /// Masks of one image's scores in plain numbers, of operators without noise; perturbed scores are told by
    /// [`SoftTopK::masks`] alone, and count as selected where they are among the k largest.
    ///
    /// # Example
    /// ```
    /// use mist::soft_top_k::SoftTopK;
    ///
    /// let masks = SoftTopK::LapSum.masks_of(&[0.1, 0.9, 0.2, 0.8], 2, 0.1).masks;
    /// assert!((masks.iter().sum::<f64>() - 2.0).abs() < 1e-12);
    /// ```
    pub fn masks_of(&self, scores: &[f32], k: usize, softness: f64) -> SoftMasks {
        match *self {
            Self::ClosedForm => closed_form::masks(scores, k, softness),
            Self::Sinkhorn { iterations } => sinkhorn::masks(scores, k, softness, iterations),
            Self::LapSum => lap_sum::masks(scores, k, softness),
            Self::Perturbed { .. } => {
                let mut masks = vec![0.0; scores.len()];
                for place in perturbed::largest(scores, k) {
                    masks[place] = 1.0;
                }
                let still = vec![0.0; scores.len()];
                SoftMasks::new(masks, &still, 0.0)
            }
        }
    }
}

/// Masks of [`SoftTopK::Perturbed`] with given noise.
///
/// # Shapes
/// - `scores` and output: `[batch, places]`
/// - `noise`: `[batch, samples, places]`, standard normal
///
/// # Errors
/// When the shapes do not belong together or the device cannot be read.
pub fn perturbed_masks(
    scores: Tensor<2>,
    noise: Tensor<3>,
    k: usize,
    sigma: f32,
) -> Result<Tensor<2>, Error> {
    let [batch, places] = scores.dims();
    let [images, samples, of_noise] = noise.dims();
    if [images, of_noise] != [batch, places] {
        return Err(Error::Mismatch {
            what: "noise as [batch, samples, places]",
            expected: vec![batch, samples, places],
            actual: vec![images, samples, of_noise],
        });
    }
    let plain = scores.clone().detach().inner().try_into_vec_as::<f32>()?;
    let noise = noise.try_into_vec_as::<f32>()?;
    let selections = perturbed::Selections::of_noise(&plain, places, k, sigma, noise);
    Ok(selections.masks(scores))
}

/// Largest cost of moving a score to an anchor, `max_ij (x_i - y_j)^2`.
fn largest_cost(scores: &[f32]) -> f64 {
    let costs = scores.iter().map(|&score| {
        let score = f64::from(score);
        score.powi(2).max((score - 1.0).powi(2))
    });
    costs.fold(f64::MIN_POSITIVE, f64::max)
}

/// Masks of optimal transport with the derivatives that they imply, `c (w_i [i = j] - w_i w_j / sum w)` with `w = m (1 - m)` and
/// `c = 2 / (epsilon C_max)`; the largest cost counts as a constant.
fn transported(masks: Vec<f64>, epsilon: f64, largest: f64) -> SoftMasks {
    let densities: Vec<f64> = masks.iter().map(|mask| mask * (1.0 - mask)).collect();
    SoftMasks::new(masks, &densities, 2.0 / (epsilon * largest))
}
#[cfg(test)]
mod tests;
