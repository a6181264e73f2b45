//! Gaussian responses and offsets on a backbone's coarse heatmap (appendix B, "Backbone-based heatmap network").

use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::geometry::Keypoint;

/// Which cell a keypoint belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellRounding {
    /// The cell with the nearest centre; offsets lie in `-0.5..0.5` (the paper's text).
    Nearest,
    /// The cell whose centre is to the left and above; offsets lie in `0..1` (the released code).
    Floor,
}

/// How an eighth of the box side becomes the Gaussian's width, in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GaussianWidth {
    /// It is the variance (the paper's text).
    Variance,
    /// It is the standard deviation (the released code).
    StandardDeviation,
}

/// Settings of the Gaussian splat.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaussianSplat {
    /// Pixels per cell of the heatmap.
    pub stride_px: f32,
    /// Side of the box at scale 1.
    pub base_box_px: f32,
    /// Which cell a keypoint belongs to.
    pub rounding: CellRounding,
    /// The Gaussian's width.
    pub width: GaussianWidth,
}

/// What the three channels of a backbone's heatmap should be.
#[derive(Clone, Debug)]
pub struct GaussianTarget {
    /// Sum of Gaussians, `[batch, 1, height, width]`.
    pub response: Tensor<4>,
    /// x- and y-offset in cells, `[batch, 2, height, width]`.
    pub offsets: Tensor<4>,
    /// 1 at cells whose offsets are supervised, `[batch, 1, height, width]`.
    pub mask: Tensor<4>,
}

impl GaussianSplat {
    /// The paper's text.
    pub fn paper(stride_px: f32, base_box_px: f32) -> Self {
        Self {
            stride_px,
            base_box_px,
            rounding: CellRounding::Nearest,
            width: GaussianWidth::Variance,
        }
    }

    /// The released code.
    pub fn official(stride_px: f32, base_box_px: f32) -> Self {
        Self {
            rounding: CellRounding::Floor,
            width: GaussianWidth::StandardDeviation,
            ..Self::paper(stride_px, base_box_px)
        }
    }

    /// The ideal heatmap of `height` x `width` cells for one list of keypoints per image.
    ///
    /// Keypoints outside the image go to its nearest cell. Where two share a cell, the later one's offsets count.
    ///
    /// # Errors
    /// When a size is not positive.
    ///
    /// # Example
    /// ```
    /// use burn::tensor::Device;
    /// use mist::geometry::Keypoint;
    /// use mist::splat::GaussianSplat;
    ///
    /// let splat = GaussianSplat::paper(16.0, 112.0);
    /// let keypoint = Keypoint { x_px: 24.0, y_px: 8.0, scale: 1.0 };
    /// let target = splat.splat(&[vec![keypoint]], 1, 3, &Device::flex())?;
    /// let response = target.response.try_into_vec_as::<f32>()?;
    /// assert!(response[1] == 1.0 && response[0] < 1.0 && response[0] == response[2]);
    /// # Ok::<(), mist::Error>(())
    /// ```
    pub fn splat(
        &self,
        keypoints: &[Vec<Keypoint>],
        height: usize,
        width: usize,
        device: &Device,
    ) -> Result<GaussianTarget, Error> {
        self.splat_weighted(keypoints, None, height, width, device)
    }

    /// As [`GaussianSplat::splat`] with a weight for each keypoint: the height of its Gaussian, and what its offsets
    /// count for.
    ///
    /// # Errors
    /// As [`GaussianSplat::splat`]; when there is not one weight per keypoint.
    pub fn splat_weighted(
        &self,
        keypoints: &[Vec<Keypoint>],
        weights: Option<&[Vec<f32>]>,
        height: usize,
        width: usize,
        device: &Device,
    ) -> Result<GaussianTarget, Error> {
        let count = |lists: &[Vec<f32>]| lists.iter().map(Vec::len).collect::<Vec<_>>();
        let expected: Vec<usize> = keypoints.iter().map(Vec::len).collect();
        if let Some(actual) = weights.map(count).filter(|actual| *actual != expected) {
            return Err(Error::Mismatch {
                what: "weights of keypoints",
                expected,
                actual,
            });
        }
        let positive = self.stride_px > 0.0 && self.base_box_px > 0.0 && height > 0 && width > 0;
        if !positive {
            return Err(Error::Setting {
                name: "stride, box and heatmap size",
                requirement: "positive".into(),
            });
        }
        let (batch, area) = (keypoints.len(), height * width);
        let mut response = vec![0.0f32; batch * area];
        let mut offsets = vec![0.0f32; batch * 2 * area];
        let mut mask = vec![0.0f32; batch * area];
        for (image, keypoints) in keypoints.iter().enumerate() {
            for (place, keypoint) in keypoints.iter().enumerate() {
                let weight = weights.map_or(1.0, |weights| weights[image][place]);
                let (x, x_offset) = self.cell(keypoint.x_px, width);
                let (y, y_offset) = self.cell(keypoint.y_px, height);
                let index = y * width + x;
                offsets[2 * image * area + index] = x_offset;
                offsets[(2 * image + 1) * area + index] = y_offset;
                mask[image * area + index] = weight;
                let map = &mut response[image * area..(image + 1) * area];
                self.add_gaussian(map, width, (x, y), weight);
            }
        }
        let tensor = |values: Vec<f32>, channels: usize| {
            let data = TensorData::new(values, [batch, channels, height, width]);
            Tensor::from_data(data, device)
        };
        Ok(GaussianTarget {
            response: tensor(response, 1),
            offsets: tensor(offsets, 2),
            mask: tensor(mask, 1),
        })
    }

    /// Index of the cell and the rest, in cells, measured between centres.
    fn cell(&self, coordinate_px: f32, side: usize) -> (usize, f32) {
        let position = coordinate_px / self.stride_px - 0.5;
        let nominal = match self.rounding {
            CellRounding::Nearest => (position + 0.5).floor(),
            CellRounding::Floor => position.floor(),
        };
        let cell = nominal.clamp(0.0, (side - 1) as f32);
        (cell as usize, position - cell)
    }

    fn add_gaussian(&self, map: &mut [f32], width: usize, (x, y): (usize, usize), weight: f32) {
        let eighth = self.base_box_px / self.stride_px / 8.0;
        let variance = match self.width {
            GaussianWidth::Variance => eighth,
            GaussianWidth::StandardDeviation => eighth * eighth,
        };
        for (index, value) in map.iter_mut().enumerate() {
            let dx = (index % width) as f32 - x as f32;
            let dy = (index / width) as f32 - y as f32;
            *value += weight * (-0.5 * (dx * dx + dy * dy) / variance).exp();
        }
    }
}
