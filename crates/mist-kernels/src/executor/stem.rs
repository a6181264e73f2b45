//! What happens to the images before the first layer with weights: reflection padding, batch norm, and the change from
//! `[channel][row][column]` to `[row][column][channel]`.
//!
//! Batch norm ties the samples of a batch together, so it is done here for all of them at once.

use std::ops::Range;

use rayon::prelude::*;

use crate::kernels::padded;
use crate::network::{Layer, Network, Shape};

/// Mean and variance for a batch norm on the input.
#[derive(Clone, Copy, Debug)]
pub enum InputStatistics<'a> {
    /// Those of the batch.
    Batch,
    /// Given, one value per input channel each.
    Given {
        /// Means.
        mean: &'a [f32],
        /// Variances.
        variance: &'a [f32],
    },
    /// Those of a batch of which the images are a part, one value per input channel each: see [`moments_of_sums`].
    OfWholeBatch {
        /// Means.
        mean: &'a [f32],
        /// Variances.
        variance: &'a [f32],
    },
}

/// Mean and variance of each channel, from the sums of [`super::Executor::input_sums`].
pub fn moments_of_sums(sums: &[f64]) -> (Vec<f32>, Vec<f32>) {
    let Some((count, sums)) = sums.split_first() else {
        return (Vec::new(), Vec::new());
    };
    let moments = sums.chunks_exact(2).map(|sums| {
        let mean = sums[0] / count;
        let variance = (sums[1] / count - mean * mean).max(0.0);
        (mean as f32, variance as f32)
    });
    moments.unzip()
}

/// Mean and reciprocal standard deviation per channel, and where they came from.
#[derive(Clone, Debug)]
pub(super) struct ChannelMoments {
    mean: Vec<f32>,
    inv_std: Vec<f32>,
    origin: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// They do not depend on the images.
    Given,
    /// The images are the batch.
    Batch,
    /// The images are a part of it.
    WholeBatch,
}

impl ChannelMoments {
    /// Whether they depend on other images too.
    pub fn are_shared(&self) -> bool {
        self.origin == Origin::WholeBatch
    }
}

/// What a forward pass saw.
#[derive(Clone, Copy)]
pub(super) struct Passed<'a> {
    pub images: &'a [f32],
    pub moments: Option<&'a ChannelMoments>,
    /// Samples of each part of the batch.
    pub parts: &'a [Range<usize>],
}

/// The leading layers without weights of their own, but for a batch norm.
pub(super) struct Stem {
    /// Number of layers.
    pub layers: usize,
    input: Shape,
    /// Source row of each output row, and column of each column.
    rows: Vec<usize>,
    columns: Vec<usize>,
    /// Offset of the batch norm's scale in the flat parameters; its shift follows.
    norm_offset: Option<usize>,
}

impl Stem {
    pub fn new(network: &Network, input: Shape) -> Self {
        let mut stem = Self {
            layers: 0,
            input,
            rows: (0..input.height_px).collect(),
            columns: (0..input.width_px).collect(),
            norm_offset: None,
        };
        for layer in network.layers() {
            match *layer {
                Layer::ReflectPad { px } if stem.norm_offset.is_none() => {
                    stem.rows = mirrored(&stem.rows, px);
                    stem.columns = mirrored(&stem.columns, px);
                }
                Layer::BatchNorm if stem.norm_offset.is_none() => stem.norm_offset = Some(0),
                _ => break,
            }
            stem.layers += 1;
        }
        stem
    }

    pub fn output(&self) -> Shape {
        Shape::new(self.input.channels, self.rows.len(), self.columns.len())
    }

    /// The moments that the batch norm uses, if there is one.
    pub fn moments(
        &self,
        images: &[f32],
        statistics: InputStatistics<'_>,
    ) -> Option<ChannelMoments> {
        self.norm_offset?;
        let (mean, variance, origin) = match statistics {
            InputStatistics::Batch => {
                let (mean, variance) = moments_of_sums(&self.sums(images));
                (mean, variance, Origin::Batch)
            }
            InputStatistics::Given { mean, variance } => {
                (mean.to_vec(), variance.to_vec(), Origin::Given)
            }
            InputStatistics::OfWholeBatch { mean, variance } => {
                (mean.to_vec(), variance.to_vec(), Origin::WholeBatch)
            }
        };
        let inv_std =
            |variance: &f32| (1.0 / (f64::from(*variance) + Layer::NORM_EPSILON).sqrt()) as f32;
        let inv_std = variance.iter().map(inv_std).collect();
        Some(ChannelMoments {
            mean,
            inv_std,
            origin,
        })
    }

    /// Number of values per channel, then sum and sum of squares of each; nothing without a batch norm.
    pub fn sums(&self, images: &[f32]) -> Vec<f64> {
        if self.norm_offset.is_none() {
            return Vec::new();
        }
        let channels = self.input.channels;
        let area = self.input.height_px * self.input.width_px;
        let batch = images.len() / self.input.len();
        let (row_visits, column_visits) = (
            visits(&self.rows, self.input.height_px),
            visits(&self.columns, self.input.width_px),
        );
        let mut found = vec![(batch * self.rows.len() * self.columns.len()) as f64];
        for channel in 0..channels {
            let (mut sum, mut squares) = (0.0, 0.0);
            for sample in 0..batch {
                let map = &images[(sample * channels + channel) * area..][..area];
                for (row, times) in map.chunks_exact(self.input.width_px).zip(&row_visits) {
                    let (mut line, mut line_squares) = (0.0, 0.0);
                    for (&pixel, visits) in row.iter().zip(&column_visits) {
                        let pixel = f64::from(pixel);
                        line += pixel * visits;
                        line_squares += pixel * pixel * visits;
                    }
                    sum += line * times;
                    squares += line_squares * times;
                }
            }
            found.extend([sum, squares]);
        }
        found
    }

    /// Writes one sample in the kernels' order.
    pub fn forward(
        &self,
        image: &[f32],
        parameters: &[f32],
        moments: Option<&ChannelMoments>,
        to: &mut [f32],
    ) {
        let channels = self.input.channels;
        let step = padded(channels);
        let width = self.input.width_px;
        let area = self.input.height_px * width;
        to.fill(0.0);
        for channel in 0..channels {
            let (factor, mean, shift) = match moments {
                Some(moments) => (
                    moments.inv_std[channel] * parameters[channel],
                    moments.mean[channel],
                    parameters[channels + channel],
                ),
                None => (1.0, 0.0, 0.0),
            };
            let map = &image[channel * area..][..area];
            let mut at = channel;
            for &row in &self.rows {
                for &column in &self.columns {
                    to[at] = (map[row * width + column] - mean) * factor + shift;
                    at += step;
                }
            }
        }
    }

    /// From the gradient of the stem's output: writes those of the batch norm's scale and shift to
    /// `parameter_gradients`, one row per part, if given, and returns that of the images, if wanted.
    pub fn backward(
        &self,
        passed: Passed<'_>,
        parameters: &[f32],
        gradient: &[f32],
        parameter_gradients: Option<&mut [f32]>,
        wants_images: bool,
    ) -> Option<Vec<f32>> {
        let channels = self.input.channels;
        let found: Vec<ChannelGradient> = (0..channels)
            .into_par_iter()
            .map(|channel| {
                let scale = passed.moments.map(|moments| (moments, parameters[channel]));
                self.channel_gradient(passed, scale, gradient, channel, wants_images)
            })
            .collect();
        if let (Some(gradients), Some(_)) = (parameter_gradients, passed.moments) {
            for (part, row) in gradients.chunks_exact_mut(parameters.len()).enumerate() {
                for (channel, found) in found.iter().enumerate() {
                    let of_part = found.parts[part];
                    row[channel] = of_part.scale as f32;
                    row[channels + channel] = of_part.shift as f32;
                }
            }
        }
        wants_images.then(|| {
            let area = self.input.height_px * self.input.width_px;
            let mut all = vec![0.0; passed.images.len()];
            for (index, map) in all.chunks_exact_mut(area).enumerate() {
                let (sample, channel) = (index / channels, index % channels);
                map.copy_from_slice(&found[channel].images[sample * area..][..area]);
            }
            all
        })
    }

    /// One channel's part of [`Stem::backward`]; `norm` holds the moments and the channel's scale.
    fn channel_gradient(
        &self,
        passed: Passed<'_>,
        norm: Option<(&ChannelMoments, f32)>,
        gradient: &[f32],
        channel: usize,
        wants_images: bool,
    ) -> ChannelGradient {
        let images = passed.images;
        let batch = images.len() / self.input.len();
        let area = self.input.height_px * self.input.width_px;
        let mut found = ChannelGradient::default();
        let (mut mean, mut inv_std, mut factor) = (0.0, 1.0, 1.0);
        let (mut mean_gradient, mut slope) = (0.0, 0.0);
        if let Some((moments, scale)) = norm {
            (mean, inv_std) = (moments.mean[channel], moments.inv_std[channel]);
            factor = scale * inv_std;
            for part in passed.parts {
                let mut sums = NormGradient::default();
                self.visit(part.clone(), channel, |_, image, output| {
                    let g = f64::from(gradient[output]);
                    sums.shift += g;
                    sums.scale += g * f64::from((images[image] - mean) * inv_std);
                });
                found.parts.push(sums);
            }
            if moments.origin == Origin::Batch {
                let count = (batch * self.rows.len() * self.columns.len()) as f64;
                let all = found.parts.iter();
                let shift: f64 = all.clone().map(|part| part.shift).sum();
                let scale: f64 = all.map(|part| part.scale).sum();
                mean_gradient = (shift / count) as f32;
                slope = (scale / count) as f32;
            }
        }
        if wants_images {
            let mut maps = vec![0.0; batch * area];
            self.visit(0..batch, channel, |pixel, image, output| {
                let normalised = (images[image] - mean) * inv_std;
                maps[pixel] += factor * (gradient[output] - mean_gradient - normalised * slope);
            });
            found.images = maps;
        }
        found
    }

    /// Calls `visit(pixel within the channel's maps, index in the images, index in the stem's outputs)` for every
    /// output of a channel.
    fn visit(
        &self,
        samples: Range<usize>,
        channel: usize,
        mut visit: impl FnMut(usize, usize, usize),
    ) {
        let step = padded(self.input.channels);
        let width = self.input.width_px;
        let area = self.input.height_px * width;
        let mut output = samples.start * self.rows.len() * self.columns.len() * step + channel;
        for sample in samples {
            let map = (sample * self.input.channels + channel) * area;
            for &row in &self.rows {
                for &column in &self.columns {
                    let pixel = row * width + column;
                    visit(sample * area + pixel, map + pixel, output);
                    output += step;
                }
            }
        }
    }
}

/// Gradients that belong to one channel of the input.
#[derive(Default)]
struct ChannelGradient {
    /// Of the batch norm, one for each part of the batch.
    parts: Vec<NormGradient>,
    images: Vec<f32>,
}

/// Gradients of a channel's scale and shift.
#[derive(Clone, Copy, Default)]
struct NormGradient {
    scale: f64,
    shift: f64,
}

/// Indices extended by `px` mirrored ones at each end, the edge itself not repeated.
pub(super) fn mirrored(indices: &[usize], px: usize) -> Vec<usize> {
    let before = (1..=px).rev().map(|distance| indices[distance]);
    let after = (1..=px).map(|distance| indices[indices.len() - 1 - distance]);
    before.chain(indices.iter().copied()).chain(after).collect()
}

fn visits(indices: &[usize], length: usize) -> Vec<f64> {
    let mut counts = vec![0.0; length];
    for &index in indices {
        counts[index] += 1.0;
    }
    counts
}
