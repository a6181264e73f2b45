//! The detector's scores of a whole image, window by window.

use mist_kernels::executor::{Executor, InputStatistics, NormStatistics, NormSums, OwnedPart};
use mist_kernels::network::{Layer, Network, Shape};
use mist_kernels::simd::{Isa, Precision};

use super::windows::{Span, spans, windows};
use super::{ImageView, LargeSearch};
use crate::Error;
use crate::heatmap::scaled;
use crate::model::Model;
use crate::networks::NetworkModule;

/// The scores of one level.
pub(super) struct Scores {
    pub values: Vec<f32>,
    pub width_px: usize,
    pub height_px: usize,
}

impl LargeSearch {
    /// The scores of every level.
    pub(super) fn scores(&self, model: &Model, image: ImageView<'_>) -> Result<Vec<Scores>, Error> {
        let levels = model.heatmap.levels().values().iter();
        levels
            .map(|&scale| {
                let size = [image.height_px, image.width_px].map(|side_px| scaled(side_px, scale));
                self.scores_at(
                    &model.heatmap.detector,
                    image,
                    size,
                    model.config().background,
                )
            })
            .collect()
    }

    fn scores_at(
        &self,
        detector: &NetworkModule,
        image: ImageView<'_>,
        [height_px, width_px]: [usize; 2],
        background: f32,
    ) -> Result<Scores, Error> {
        let halo_px = reach_px(detector.network());
        let rows = spans(height_px, self.window_px, halo_px);
        let columns = spans(width_px, self.window_px, halo_px);
        let windows = windows(&rows, &columns);
        let sides = [&rows, &columns].map(|spans| spans.first().map_or(0, |s| s.shown.len()));
        let run = WindowRun::new(detector, Shape::new(image.channels, sides[0], sides[1]))?;
        let batch = (Self::BATCH_PX / (sides[0] * sides[1]).max(1)).max(1);
        let pixels = |windows: &[[Span; 2]]| {
            let mut pixels = Vec::new();
            for [rows, columns] in windows {
                let part = [rows.shown.clone(), columns.shown.clone()];
                image.append_resized(&mut pixels, [height_px, width_px], part, background);
            }
            pixels
        };

        let spread = spread_evenly(&windows, self.statistics_px / (sides[0] * sides[1]).max(1));
        let mut norms = NormStatistics::default();
        for _ in 0..run.executor.norms() {
            let mut sums = NormSums::default();
            for windows in spread.chunks(batch) {
                let parts: Vec<OwnedPart> = windows.iter().map(owned_part).collect();
                for part in run.norm_sums(&pixels(windows), &norms, &parts)? {
                    sums.add(part);
                }
            }
            norms.push(sums);
        }

        let mut values = vec![0.0; height_px * width_px];
        for windows in windows.chunks(batch) {
            let scores = run.forward(&pixels(windows), &norms)?;
            for ([rows, columns], scores) in
                windows.iter().zip(scores.chunks_exact(sides[0] * sides[1]))
            {
                let from = columns.owned_within();
                for (row, to) in rows.owned_within().zip(rows.owned.clone()) {
                    let line = &scores[row * sides[1]..][from.clone()];
                    values[to * width_px..][columns.owned.clone()].copy_from_slice(line);
                }
            }
        }
        Ok(Scores {
            values,
            width_px,
            height_px,
        })
    }
}

/// A detector compiled for windows.
struct WindowRun {
    executor: Executor,
    parameters: Vec<f32>,
    mean: Vec<f32>,
    variance: Vec<f32>,
}

impl WindowRun {
    fn new(detector: &NetworkModule, window: Shape) -> Result<Self, Error> {
        let (isa, precision) = (Isa::selected()?, Precision::selected()?);
        let (mean, variance) = detector.running_statistics();
        Ok(Self {
            executor: Executor::new(detector.network(), window, isa, precision)?,
            parameters: detector.parameter_values()?,
            mean: mean.try_into_vec_as()?,
            variance: variance.try_into_vec_as()?,
        })
    }

    fn statistics(&self) -> InputStatistics<'_> {
        InputStatistics::Given {
            mean: &self.mean,
            variance: &self.variance,
        }
    }

    fn norm_sums(
        &self,
        pixels: &[f32],
        norms: &NormStatistics,
        owned: &[OwnedPart],
    ) -> Result<Vec<NormSums>, Error> {
        let statistics = self.statistics();
        Ok(self
            .executor
            .norm_sums(&self.parameters, pixels, statistics, norms, owned)?)
    }

    fn forward(&self, pixels: &[f32], norms: &NormStatistics) -> Result<Vec<f32>, Error> {
        let statistics = self.statistics();
        Ok(self
            .executor
            .forward_with_norms(&self.parameters, pixels, statistics, norms)?)
    }
}

fn owned_part([rows, columns]: &[Span; 2]) -> OwnedPart {
    OwnedPart {
        rows: rows.owned_within(),
        columns: columns.owned_within(),
    }
}

/// How far a pixel of the output sees, in pixels: one for each 3x3 convolution.
fn reach_px(network: &Network) -> usize {
    let reach = |layer: &Layer| match layer {
        Layer::Conv3x3 { .. } => 1,
        Layer::Residual(_) => 2,
        _ => 0,
    };
    network.layers().iter().map(reach).sum()
}

/// At most `most` of some windows.
fn spread_evenly(windows: &[[Span; 2]], most: usize) -> Vec<[Span; 2]> {
    let count = windows.len().min(most.max(1));
    (0..count)
        .map(|index| windows[(2 * index + 1) * windows.len() / (2 * count)].clone())
        .collect()
}
