//! The heatmap of a whole image, window by window, from its scores.

use burn::tensor::{Device, Tensor, TensorData};

use super::scores::Scores;
use super::view::{Positions, append_resized};
use super::windows::{Span, spans, windows};
use super::{ImageView, LargeSearch};
use crate::Error;
use crate::extract::ScoredKeypoint;
use crate::geometry::Keypoint;
use crate::heatmap::scale_fusion;
use crate::model::Model;

/// The fused heatmap of an image.
pub(crate) struct Heat {
    /// What E_K reads.
    pub responses: Vec<f32>,
    /// Scale of each pixel; empty where there is one level only.
    scales: Vec<f32>,
    /// The only level.
    level: f32,
}

/// What is summed at each pixel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sum {
    /// The levels' responses.
    Levels,
    /// These, over the extractor's mass window.
    MassWindow,
}

impl Heat {
    pub fn keypoint(&self, index: usize, width_px: usize) -> ScoredKeypoint {
        let keypoint = Keypoint {
            x_px: (index % width_px) as f32 + 0.5,
            y_px: (index / width_px) as f32 + 0.5,
            scale: self.scales.get(index).copied().unwrap_or(self.level),
        };
        ScoredKeypoint {
            keypoint,
            score: self.responses[index],
        }
    }
}

impl LargeSearch {
    pub(super) fn heat(
        &self,
        model: &Model,
        scores: &[Scores],
        image: ImageView<'_>,
        sum: Sum,
    ) -> Result<Heat, Error> {
        let (width, height) = (image.width_px, image.height_px);
        let (softmax, extractor) = (&model.config().softmax, &model.config().extractor);
        // A softmax that is shifted by the window's maximum sees the windows of its window.
        let halo_px = 2 * (softmax.window_px / 2) + extractor.mass_window_px / 2;
        let windows = windows(
            &spans(height, self.window_px, halo_px),
            &spans(width, self.window_px, halo_px),
        );
        let size = [height, width];
        let largest = largest(scores, &windows, size);
        let levels = model.heatmap.levels();
        let several = levels.values().len() > 1;
        let mut heat = Heat {
            responses: vec![0.0; width * height],
            scales: vec![0.0; if several { width * height } else { 0 }],
            level: levels.values()[0],
        };
        for window in &windows {
            let [rows, columns] = window;
            let side = columns.shown.len();
            let area = rows.shown.len() * side;
            let mut values = Vec::with_capacity(scores.len() * area);
            for scores in scores {
                append_window(&mut values, scores, window, size);
            }
            let data = TensorData::new(values, [1, scores.len(), rows.shown.len(), side]);
            let maps = Tensor::<4>::from_data(data, &Device::flex());
            let shift = TensorData::new(largest.clone(), [1, scores.len(), 1, 1]);
            let shift = Tensor::from_data(shift, &Device::flex());
            let mut maps = softmax.forward_below(maps, shift)?;
            if several {
                maps = scale_fusion(maps);
            }
            let maps = maps.try_into_vec_as::<f32>()?;
            if !maps.iter().all(|value| value.is_finite()) {
                return Err(Error::NonFiniteHeatmap { image: 0 });
            }
            let mut fused = vec![0.0f32; area];
            for map in maps.chunks_exact(area) {
                for (sum, value) in fused.iter_mut().zip(map) {
                    *sum += value;
                }
            }
            if sum == Sum::MassWindow {
                fused = extractor.masses(fused, side);
            }
            let from = columns.owned_within();
            for (row, to) in rows.owned_within().zip(rows.owned.clone()) {
                let line = row * side + from.start..row * side + from.end;
                let place = to * width + columns.owned.start..to * width + columns.owned.end;
                heat.responses[place.clone()].copy_from_slice(&fused[line.clone()]);
                if several {
                    for (scale, index) in heat.scales[place].iter_mut().zip(line) {
                        let weights = maps.chunks_exact(area).map(|map| map[index]);
                        *scale = levels.first_moment(weights);
                    }
                }
            }
        }
        Ok(heat)
    }
}

/// The largest score of each level, at the image's size.
fn largest(scores: &[Scores], windows: &[[Span; 2]], size: [usize; 2]) -> Vec<f32> {
    let mut part = Vec::new();
    let mut largest = |scores: &Scores| {
        let mut largest = f32::NEG_INFINITY;
        for window in windows {
            part.clear();
            append_window(&mut part, scores, window, size);
            largest = part.iter().copied().fold(largest, f32::max);
        }
        largest
    };
    scores.iter().map(&mut largest).collect()
}

/// Appends what a window shows of a level's scores, at the image's size.
fn append_window(
    to: &mut Vec<f32>,
    scores: &Scores,
    [rows, columns]: &[Span; 2],
    size: [usize; 2],
) {
    let rows = Positions::new(rows.shown.clone(), scores.height_px, size[0]);
    let columns = Positions::new(columns.shown.clone(), scores.width_px, size[1]);
    append_resized(to, &scores.values, scores.width_px, &rows, &columns);
}
