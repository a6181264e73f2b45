//! The local spatial softmax that sharpens a heatmap (paper, appendix A).

use burn::tensor::Tensor;
use burn::tensor::module::{avg_pool2d, max_pool2d};
use burn::tensor::ops::{AvgPoolOptions, MaxPoolOptions, PadMode};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::settings::{Bounds, WEIGHT, within};

/// The widest window.
const MAX_WINDOW_PX: usize = 999;

/// What is subtracted before the exponential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowShift {
    /// The map's maximum.
    GlobalMax,
    /// The maximum of the window around each pixel.
    LocalMax,
}

/// The sum over a window that reaches beyond the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowBorder {
    /// The pixels inside the image only.
    Truncate,
    /// The sum of the nearest window that is wholly inside; as `Truncate` in images smaller than a window.
    Replicate,
}

/// `exp(strength * h) / (window sum of exp(strength * h) + epsilon)`, each map on its own.
///
/// The default is the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LocalSoftmax {
    /// Side of the window, odd.
    pub window_px: usize,
    /// Factor on the scores.
    pub strength: f32,
    /// What is subtracted first.
    pub shift: WindowShift,
    /// Windows at the border.
    pub border: WindowBorder,
}

impl Default for LocalSoftmax {
    fn default() -> Self {
        Self::paper()
    }
}

impl LocalSoftmax {
    /// Keeps the quotient finite where a window is far below the map's maximum.
    pub const EPSILON: f64 = 1e-6;

    /// 15 x 15 px (appendix A), summing over the pixels that exist; the strength is the released code's.
    pub fn paper() -> Self {
        Self {
            window_px: 15,
            strength: 10.0,
            shift: WindowShift::GlobalMax,
            border: WindowBorder::Truncate,
        }
    }

    /// The released code's: window sums at the border are those of the nearest full window.
    pub fn official() -> Self {
        Self {
            border: WindowBorder::Replicate,
            ..Self::paper()
        }
    }

    /// LF-Net's: strength 3, shifted by each window's own maximum.
    pub fn lf_net() -> Self {
        Self {
            strength: 3.0,
            shift: WindowShift::LocalMax,
            ..Self::paper()
        }
    }

    /// Refuses impossible settings.
    ///
    /// # Errors
    /// When the window is not odd or the strength out of bounds.
    pub fn check(&self) -> Result<(), Error> {
        Bounds::new("window_px", 1, MAX_WINDOW_PX).check_odd(self.window_px)?;
        within([("strength", self.strength, WEIGHT)])
    }

    /// Sharpens every map.
    ///
    /// # Shapes
    /// - input and output: `[batch, maps, height, width]`
    ///
    /// # Errors
    /// When the window is not odd or the strength out of bounds.
    ///
    /// # Example
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use mist::heatmap::LocalSoftmax;
    ///
    /// let flat = Tensor::<4>::zeros([1, 1, 31, 31], &Device::flex());
    /// let sharpened = LocalSoftmax::paper().forward(flat)?;
    /// // A flat map shares its mass evenly within each window of 15 x 15 px.
    /// let centre = sharpened.slice([0..1, 0..1, 15..16, 15..16]).into_scalar::<f32>();
    /// assert!((centre - 1.0 / 225.0).abs() < 1e-5);
    /// # Ok::<(), mist::Error>(())
    /// ```
    pub fn forward(&self, heatmaps: Tensor<4>) -> Result<Tensor<4>, Error> {
        let largest = map_max(heatmaps.clone());
        self.forward_below(heatmaps, largest)
    }

    /// As [`LocalSoftmax::forward`] for parts of maps whose maxima, `[1, maps, 1, 1]`, are known.
    pub(crate) fn forward_below(
        &self,
        heatmaps: Tensor<4>,
        largest: Tensor<4>,
    ) -> Result<Tensor<4>, Error> {
        self.check()?;
        let shift = match self.shift {
            WindowShift::GlobalMax => largest,
            WindowShift::LocalMax => window_max(heatmaps.clone(), self.window_px),
        };
        let exponential = ((heatmaps - shift) * self.strength).exp();
        let sums = self.window_sum(exponential.clone());
        Ok(exponential / (sums + Self::EPSILON))
    }

    fn window_sum(&self, maps: Tensor<4>) -> Tensor<4> {
        let [_, _, height, width] = maps.dims();
        let (side, radius) = (self.window_px, self.window_px / 2);
        let replicate = self.border == WindowBorder::Replicate && height >= side && width >= side;
        if replicate {
            square_sum(maps, side, 0).pad((radius, radius, radius, radius), PadMode::Edge)
        } else {
            window_sum(maps, side)
        }
    }
}

/// Sum over the square window of odd side around each pixel, with zeros outside the map.
pub(crate) fn window_sum(maps: Tensor<4>, side_px: usize) -> Tensor<4> {
    square_sum(maps, side_px, side_px / 2)
}

/// A square window is two strips.
fn square_sum(maps: Tensor<4>, side_px: usize, margin_px: usize) -> Tensor<4> {
    let rows = strip_sum(maps, [side_px, 1], [margin_px, 0]);
    strip_sum(rows, [1, side_px], [0, margin_px])
}

/// Sum over a window with zeros in a margin around the map.
fn strip_sum(maps: Tensor<4>, window_px: [usize; 2], margin_px: [usize; 2]) -> Tensor<4> {
    let options = AvgPoolOptions::new(window_px)
        .with_stride([1, 1])
        .with_padding(margin_px)
        .with_count_include_pad(true);
    avg_pool2d(maps, options) * (window_px[0] * window_px[1]) as f64
}

fn map_max(maps: Tensor<4>) -> Tensor<4> {
    let [batch, channels, height, width] = maps.dims();
    maps.reshape([batch, channels, 1, height * width])
        .max_dim(3)
}

fn window_max(maps: Tensor<4>, window_px: usize) -> Tensor<4> {
    let radius = window_px / 2;
    let options = MaxPoolOptions::new([window_px, window_px])
        .with_stride([1, 1])
        .with_padding([radius, radius]);
    max_pool2d(maps, options)
}
