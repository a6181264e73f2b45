//! The extractor E_K: non-maximum suppression and top-K selection (paper, section 4.1).
//!
//! It is not differentiable, so it works on plain numbers and breaks ties by position: the same heatmap gives the
//! same keypoints everywhere.

mod nms;
mod selection;
mod suppression;
mod top_k;
mod window_sums;

pub use selection::Selection;
pub use suppression::Suppression;

use burn::tensor::{DType, Tensor};
use serde::{Deserialize, Serialize};

pub(crate) use window_sums::{WindowSums, window};

use crate::Error;
use crate::geometry::Keypoint;
use crate::heatmap::ScaleLevels;
use crate::settings::Bounds;

/// Limits of the settings.
const MAX_INSTANCES: usize = 1 << 20;
const MAX_WINDOW_PX: usize = 9_999;

/// A keypoint and the heatmap's value there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoredKeypoint {
    /// Where and how large.
    pub keypoint: Keypoint,
    /// Response of the fused heatmap.
    pub score: f32,
}

/// Settings of E_K; the default is [`Extractor::new`] of 9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Extractor {
    /// K, the number of keypoints per image.
    pub instances: usize,
    /// Side of the suppression window, odd; 1 suppresses nothing.
    pub nms_window_px: usize,
    /// Side of the window, odd, over which responses are summed before maxima are looked for: a detector that is sure of
    /// an object but not of its exact pixel spreads its response. 1 is the paper's.
    pub mass_window_px: usize,
    /// What the suppression window means.
    pub suppression: Suppression,
}

impl Default for Extractor {
    fn default() -> Self {
        Self::new(9)
    }
}

/// The keypoints alone.
pub fn without_scores(scored: Vec<Vec<ScoredKeypoint>>) -> Vec<Vec<Keypoint>> {
    let image = |image: Vec<ScoredKeypoint>| image.into_iter().map(|p| p.keypoint).collect();
    scored.into_iter().map(image).collect()
}

impl Extractor {
    /// K keypoints, suppressing within 5 x 5 px as the released code does.
    pub fn new(instances: usize) -> Self {
        Self {
            instances,
            nms_window_px: 5,
            mass_window_px: 1,
            suppression: Suppression::LocalMaxima,
        }
    }

    /// The K strongest local maxima of each image, strongest first.
    ///
    /// A pixel's scale is the first moment of the levels under its responses. Where an image has fewer than K
    /// local maxima, the strongest suppressed pixels follow.
    ///
    /// # Shapes
    /// - `heatmaps`: `[batch, scales, height, width]`
    ///
    /// # Errors
    /// When the settings are impossible, the scales do not match or a response is not finite.
    ///
    /// # Example
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use mist::extract::Extractor;
    /// use mist::heatmap::ScaleLevels;
    ///
    /// let heatmap = Tensor::<4>::from_data([[[[0.1, 0.9, 0.1, 0.0, 0.0, 0.0, 0.5]]]], &Device::flex());
    /// let found = Extractor::new(2).extract(heatmap, &ScaleLevels::single())?;
    /// let places: Vec<f32> = found[0].iter().map(|found| found.keypoint.x_px).collect();
    /// assert_eq!(places, [1.5, 6.5]);
    /// # Ok::<(), mist::Error>(())
    /// ```
    pub fn extract(
        &self,
        heatmaps: Tensor<4>,
        levels: &ScaleLevels,
    ) -> Result<Vec<Vec<ScoredKeypoint>>, Error> {
        let [_, _, height, width] = heatmaps.dims();
        self.check_pixels(height * width)?;
        self.extract_selected(heatmaps, levels, Selection::Strongest(self.instances))
    }

    /// As [`Extractor::extract`] for another selection than the K strongest.
    ///
    /// # Errors
    /// As [`Extractor::extract`].
    pub fn extract_selected(
        &self,
        heatmaps: Tensor<4>,
        levels: &ScaleLevels,
        selection: Selection,
    ) -> Result<Vec<Vec<ScoredKeypoint>>, Error> {
        let [_, scales, height, width] = heatmaps.dims();
        if scales != levels.values().len() {
            return Err(Error::Mismatch {
                what: "scales of the heatmap",
                expected: vec![levels.values().len()],
                actual: vec![scales],
            });
        }
        let area = height * width;
        self.per_image(heatmaps, |maps| {
            let mut fused = vec![0.0f32; area];
            for map in maps.chunks_exact(area) {
                for (sum, value) in fused.iter_mut().zip(map) {
                    *sum += value;
                }
            }
            let fused = self.masses(fused, width);
            let window_px = self.nms_window_px;
            let picked = self.suppression.pick(&fused, width, window_px, selection);
            let keypoint = |index: usize| Keypoint {
                x_px: (index % width) as f32 + 0.5,
                y_px: (index / width) as f32 + 0.5,
                scale: levels.first_moment(maps.chunks_exact(area).map(|map| map[index])),
            };
            scored(&picked, &fused, keypoint)
        })
    }

    /// As [`Extractor::extract`] for the coarse heatmap of a backbone, whose second and third channels move each
    /// cell's keypoint by a fraction of a cell (appendix A, "Backbone-based heatmap network").
    ///
    /// # Shapes
    /// - `heatmaps`: `[batch, 3, height, width]` in cells of `stride_px`: response, x-offset, y-offset
    ///
    /// # Errors
    /// As [`Extractor::extract`].
    pub fn extract_with_offsets(
        &self,
        heatmaps: Tensor<4>,
        stride_px: f32,
    ) -> Result<Vec<Vec<ScoredKeypoint>>, Error> {
        let [_, channels, height, width] = heatmaps.dims();
        if channels != 3 {
            return Err(Error::Mismatch {
                what: "channels of a heatmap with offsets",
                expected: vec![3],
                actual: vec![channels],
            });
        }
        let area = height * width;
        self.check_pixels(area)?;
        self.per_image(heatmaps, |maps| {
            let (response, offsets) = maps.split_at(area);
            let response = &self.masses(response.to_vec(), width);
            let (x_offsets, y_offsets) = offsets.split_at(area);
            let picked = self.pick(response, width);
            let keypoint = |index: usize| Keypoint {
                x_px: ((index % width) as f32 + 0.5 + x_offsets[index]) * stride_px,
                y_px: ((index / width) as f32 + 0.5 + y_offsets[index]) * stride_px,
                scale: 1.0,
            };
            scored(&picked, response, keypoint)
        })
    }

    fn per_image(
        &self,
        heatmaps: Tensor<4>,
        extract: impl Fn(&[f32]) -> Vec<ScoredKeypoint>,
    ) -> Result<Vec<Vec<ScoredKeypoint>>, Error> {
        let [batch, channels, height, width] = heatmaps.dims();
        self.check()?;
        let values = heatmaps.cast(DType::F32).try_into_vec_as::<f32>()?;
        let sample = channels * height * width;
        (0..batch)
            .map(|image| {
                let maps = &values[image * sample..(image + 1) * sample];
                if maps.iter().all(|value| value.is_finite()) {
                    Ok(extract(maps))
                } else {
                    Err(Error::NonFiniteHeatmap { image })
                }
            })
            .collect()
    }

    fn pick(&self, scores: &[f32], width: usize) -> Vec<usize> {
        let strongest = Selection::Strongest(self.instances);
        self.suppression
            .pick(scores, width, self.nms_window_px, strongest)
    }

    /// Indices of what is selected of a fused heatmap of any size, strongest first.
    pub(crate) fn select(
        &self,
        responses: &[f32],
        width: usize,
        selection: Selection,
    ) -> Result<Vec<usize>, Error> {
        if let Selection::Strongest(instances) = selection {
            let strongest = Self { instances, ..*self };
            strongest.check_pixels(responses.len())?;
        }
        Ok(self
            .suppression
            .pick(responses, width, self.nms_window_px, selection))
    }

    /// The responses summed over the mass window, those at its centre weighted most: a pyramid of nested windows, so that
    /// a lone response keeps its place.
    pub(crate) fn masses(&self, scores: Vec<f32>, width: usize) -> Vec<f32> {
        if self.mass_window_px == 1 {
            return scores;
        }
        let sums = WindowSums::new(&scores, width);
        let mass = |index: usize| -> f64 {
            let (x, y) = (index % width, index / width);
            let sides = (1..=self.mass_window_px).step_by(2);
            sides.map(|side| sums.around(x, y, side)).sum()
        };
        let nested = self.mass_window_px.div_ceil(2) as f64;
        (0..scores.len())
            .map(|index| (mass(index) / nested) as f32)
            .collect()
    }

    /// Refuses impossible settings.
    pub(crate) fn check(&self) -> Result<(), Error> {
        Bounds::new("instances", 1, MAX_INSTANCES).check(self.instances)?;
        let window = |name| Bounds::new(name, 1, MAX_WINDOW_PX);
        window("nms_window_px").check_odd(self.nms_window_px)?;
        window("mass_window_px").check_odd(self.mass_window_px)
    }

    fn check_pixels(&self, pixels: usize) -> Result<(), Error> {
        self.check()?;
        if self.instances > pixels {
            return Err(Error::TooManyKeypoints {
                requested: self.instances,
                pixels,
            });
        }
        Ok(())
    }
}

fn scored(
    picked: &[usize],
    scores: &[f32],
    keypoint: impl Fn(usize) -> Keypoint,
) -> Vec<ScoredKeypoint> {
    picked
        .iter()
        .map(|&index| ScoredKeypoint {
            keypoint: keypoint(index),
            score: scores[index],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;

    fn strongest(mass_window_px: usize) -> (f32, f32) {
        let (width, height) = (12, 9);
        let mut map = vec![0.0; width * height];
        // A lone response of .6 beside one of 1 that is spread over five pixels.
        map[4 * width + 9] = 0.6;
        for (x, y) in [(3, 3), (2, 3), (4, 3), (3, 2), (3, 4)] {
            map[y * width + x] = 0.2;
        }
        let extractor = Extractor {
            mass_window_px,
            ..Extractor::new(1)
        };
        let data = TensorData::new(map, [1, 1, height, width]);
        let maps = Tensor::from_data(data, &Device::flex());
        let found = extractor.extract(maps, &ScaleLevels::single()).unwrap();
        let keypoint = found[0][0].keypoint;
        (keypoint.x_px, keypoint.y_px)
    }

    #[test]
    fn spread_responses_count_as_much_as_lone_ones() {
        assert_eq!(strongest(1), (9.5, 4.5));
        assert_eq!(strongest(5), (3.5, 3.5));
    }
}
