//! What happens to the images before the first layer with weights: reflection padding, batch norm, and the change from
//! `[channel][row][column]` to `[row][column][channel]`.
//!
//! Batch norm ties the samples of a batch together, so it is done here for all of them at once.

use rayon::prelude::*;

use super::order;
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
}

/// Mean and reciprocal standard deviation per channel, and whether they came from the batch.
#[derive(Clone, Debug)]
pub(super) struct ChannelMoments {
    mean: Vec<f32>,
    inv_std: Vec<f32>,
    of_batch: bool,
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
        let (mean, variance, of_batch) = match statistics {
            InputStatistics::Batch => {
                let (mean, variance) = self.batch_moments(images);
                (mean, variance, true)
            }
            InputStatistics::Given { mean, variance } => (mean.to_vec(), variance.to_vec(), false),
        };
        let inv_std =
            |variance: &f32| (1.0 / (f64::from(*variance) + Layer::NORM_EPSILON).sqrt()) as f32;
        let inv_std = variance.iter().map(inv_std).collect();
        Some(ChannelMoments {
            mean,
            inv_std,
            of_batch,
        })
    }

    fn batch_moments(&self, images: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let channels = self.input.channels;
        let area = self.input.height_px * self.input.width_px;
        let batch = images.len() / self.input.len();
        let (row_visits, column_visits) = (
            visits(&self.rows, self.input.height_px),
            visits(&self.columns, self.input.width_px),
        );
        let count = (batch * self.rows.len() * self.columns.len()) as f64;
        let mean_of = |channel: usize, value: &dyn Fn(f64) -> f64| {
            let mut sum = 0.0;
            for sample in 0..batch {
                let map = &images[(sample * channels + channel) * area..][..area];
                for (row, times) in map.chunks_exact(self.input.width_px).zip(&row_visits) {
                    let line: f64 = row
                        .iter()
                        .zip(&column_visits)
                        .map(|(&pixel, visits)| value(f64::from(pixel)) * visits)
                        .sum();
                    sum += line * times;
                }
            }
            sum / count
        };
        (0..channels)
            .map(|channel| {
                let mean = mean_of(channel, &|pixel| pixel);
                let variance = mean_of(channel, &|pixel| (pixel - mean) * (pixel - mean));
                (mean as f32, variance as f32)
            })
            .unzip()
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
        if step > channels {
            to.fill(0.0);
        }
        if self.layers == 0 {
            return order::to_pixels(image, area, step, to);
        }
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
    /// `parameter_gradients`, if given, and returns that of the images, if wanted.
    pub fn backward(
        &self,
        images: &[f32],
        parameters: &[f32],
        moments: Option<&ChannelMoments>,
        gradient: &[f32],
        parameter_gradients: Option<&mut [f32]>,
        wants_images: bool,
    ) -> Option<Vec<f32>> {
        let channels = self.input.channels;
        if self.layers == 0 {
            return wants_images.then(|| self.as_planes(gradient));
        }
        let found: Vec<ChannelGradient> = (0..channels)
            .into_par_iter()
            .map(|channel| {
                let scale = moments.map(|moments| (moments, parameters[channel]));
                self.channel_gradient(images, scale, gradient, channel, wants_images)
            })
            .collect();
        if let (Some(gradients), Some(_)) = (parameter_gradients, moments) {
            for (channel, found) in found.iter().enumerate() {
                gradients[channel] = found.scale as f32;
                gradients[channels + channel] = found.shift as f32;
            }
        }
        wants_images.then(|| {
            let area = self.input.height_px * self.input.width_px;
            let mut all = vec![0.0; images.len()];
            for (index, map) in all.chunks_exact_mut(area).enumerate() {
                let (sample, channel) = (index / channels, index % channels);
                map.copy_from_slice(&found[channel].images[sample * area..][..area]);
            }
            all
        })
    }

    /// The gradient of the images where there are no layers.
    fn as_planes(&self, gradient: &[f32]) -> Vec<f32> {
        let area = self.input.height_px * self.input.width_px;
        let step = padded(self.input.channels);
        let samples = gradient.par_chunks_exact(area * step);
        let mut planes = vec![0.0; samples.len() * self.input.len()];
        planes
            .par_chunks_exact_mut(self.input.len())
            .zip(samples)
            .for_each(|(planes, pixels)| order::to_planes(pixels, area, step, planes));
        planes
    }

    /// One channel's part of [`Stem::backward`]; `norm` holds the moments and the channel's scale.
    fn channel_gradient(
        &self,
        images: &[f32],
        norm: Option<(&ChannelMoments, f32)>,
        gradient: &[f32],
        channel: usize,
        wants_images: bool,
    ) -> ChannelGradient {
        let batch = images.len() / self.input.len();
        let area = self.input.height_px * self.input.width_px;
        let mut found = ChannelGradient::default();
        let (mut mean, mut inv_std, mut factor) = (0.0, 1.0, 1.0);
        let (mut mean_gradient, mut slope) = (0.0, 0.0);
        if let Some((moments, scale)) = norm {
            (mean, inv_std) = (moments.mean[channel], moments.inv_std[channel]);
            factor = scale * inv_std;
            self.visit(batch, channel, |_, image, output| {
                let g = f64::from(gradient[output]);
                found.shift += g;
                found.scale += g * f64::from((images[image] - mean) * inv_std);
            });
            if moments.of_batch {
                let count = (batch * self.rows.len() * self.columns.len()) as f64;
                mean_gradient = (found.shift / count) as f32;
                slope = (found.scale / count) as f32;
            }
        }
        if wants_images {
            let mut maps = vec![0.0; batch * area];
            self.visit(batch, channel, |pixel, image, output| {
                let normalised = (images[image] - mean) * inv_std;
                maps[pixel] += factor * (gradient[output] - mean_gradient - normalised * slope);
            });
            found.images = maps;
        }
        found
    }

    /// Calls `visit(pixel within the channel's maps, index in the images, index in the stem's outputs)` for every
    /// output of a channel.
    fn visit(&self, batch: usize, channel: usize, mut visit: impl FnMut(usize, usize, usize)) {
        let step = padded(self.input.channels);
        let width = self.input.width_px;
        let area = self.input.height_px * width;
        let mut output = channel;
        for sample in 0..batch {
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
    scale: f64,
    shift: f64,
    images: Vec<f32>,
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
