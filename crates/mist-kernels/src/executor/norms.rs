//! Norms of an image that is seen through windows, one at a time.
//!
//! A norm's statistics are those of the whole map. They are gathered norm by norm: the windows run up to a norm with
//! the statistics of all norms before it, and what each owns of the map is summed.

use std::ops::Range;

use super::block::Block;
use super::program::{Action, ValueId};
use super::{Executor, ExecutorError, InputStatistics, Keep, expect_len};
use crate::kernels::norm::Moments;
use crate::network::Layer;
use rayon::prelude::*;

/// Values added up at a time, each in a sum of its own.
const CHAINS: usize = 8;

/// What a window owns of the image: no pixel has two owners. What begins or ends at the window's edge is at the image's
/// edge too, and owns what a network adds there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedPart {
    /// Rows of the window.
    pub rows: Range<usize>,
    /// Columns of the window.
    pub columns: Range<usize>,
}

/// Sums over parts of a norm's input.
#[derive(Clone, Copy, Debug, Default)]
pub struct NormSums {
    values: f64,
    sum: f64,
    squares: f64,
}

impl NormSums {
    /// Adds those of another part.
    pub fn add(&mut self, other: Self) {
        self.values += other.values;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    fn moments(self) -> Moments {
        let mean = self.sum / self.values;
        let variance = (self.squares / self.values - mean * mean).max(0.0);
        Moments {
            mean: mean as f32,
            inv_std: (1.0 / (variance + Layer::NORM_EPSILON).sqrt()) as f32,
        }
    }
}

/// Statistics of a network's norms, from the first on.
#[derive(Clone, Debug, Default)]
pub struct NormStatistics {
    pub(super) known: Vec<Moments>,
}

impl NormStatistics {
    /// Adds those of the next norm.
    pub fn push(&mut self, sums: NormSums) {
        self.known.push(sums.moments());
    }
}

impl Executor {
    /// Number of norms after the input's.
    pub fn norms(&self) -> usize {
        self.program.norm_steps
    }

    /// As [`Executor::forward`], with statistics of norms that are not those of each sample.
    ///
    /// # Errors
    /// As [`Executor::forward`]; when a norm is without statistics.
    pub fn forward_with_norms(
        &self,
        parameters: &[f32],
        images: &[f32],
        statistics: InputStatistics<'_>,
        norms: &NormStatistics,
    ) -> Result<Vec<f32>, ExecutorError> {
        expect_len("norm statistics", norms.known.len(), self.norms())?;
        let (outputs, _) = self.run(
            parameters,
            images,
            statistics,
            Keep::Output,
            (1, Some(norms)),
        )?;
        Ok(outputs)
    }

    /// The sums of the first norm without statistics, over what each sample owns.
    ///
    /// # Shapes
    /// - `images`: `[batch, channels, height, width]`, one owned part for each
    ///
    /// # Errors
    /// As [`Executor::forward`]; when all norms have statistics.
    pub fn norm_sums(
        &self,
        parameters: &[f32],
        images: &[f32],
        statistics: InputStatistics<'_>,
        norms: &NormStatistics,
        owned: &[OwnedPart],
    ) -> Result<Vec<NormSums>, ExecutorError> {
        let batch = self.check(parameters, images, statistics)?;
        expect_len("owned parts", owned.len(), batch)?;
        let wanted = norms.known.len();
        let is_wanted = |action: &Action| matches!(action, Action::Normalise { moments, .. } if *moments == wanted);
        let steps = self.program.steps.iter();
        let Some(end) = steps.clone().position(|step| is_wanted(&step.action)) else {
            expect_len("norm statistics", wanted, self.norms().saturating_sub(1))?;
            return Ok(Vec::new());
        };
        let moments = self.stem.moments(images, statistics);
        let packed = self
            .layout
            .pack_forward(&self.program, parameters, &self.pool);
        let context = self.context(&packed, Some(norms));
        let sums = images
            .par_chunks(self.input.len())
            .zip(owned)
            .map(|(image, owned)| {
                let mut block = self.start(image, parameters, moments.as_ref());
                context.forward_until(&mut block, Keep::Output, end);
                let sums = self.sums(&block, self.program.steps[end].src, owned);
                for buffer in block.values.drain(..).flatten() {
                    self.pool.give(buffer);
                }
                sums
            })
            .collect();
        self.pool.give(packed);
        Ok(sums)
    }

    fn sums(&self, block: &Block, value: ValueId, owned: &OwnedPart) -> NormSums {
        let map = self.program.values[value];
        let size = map.size;
        let rows = part_of_map(&owned.rows, self.input.height_px, size.height);
        let columns = part_of_map(&owned.columns, self.input.width_px, size.width);
        let mut found = NormSums {
            values: (rows.len() * columns.len() * map.channels) as f64,
            ..NormSums::default()
        };
        let values = block.map(value, size.len());
        // Channels of padding are zero and add nothing.
        for row in rows {
            let from = (row * size.width + columns.start) * size.channels;
            add_row(&mut found, &values[from..][..columns.len() * size.channels]);
        }
        found
    }
}

fn add_row(found: &mut NormSums, row: &[f32]) {
    let (mut sums, mut squares) = ([0.0f64; CHAINS], [0.0f64; CHAINS]);
    let chunks = row.chunks_exact(CHAINS);
    for &value in chunks.remainder() {
        found.sum += f64::from(value);
        found.squares += f64::from(value) * f64::from(value);
    }
    for chunk in chunks {
        for (chain, &value) in chunk.iter().enumerate() {
            let value = f64::from(value);
            sums[chain] += value;
            squares[chain] += value * value;
        }
    }
    found.sum += sums.iter().sum::<f64>();
    found.squares += squares.iter().sum::<f64>();
}

/// What is owned of a map whose sides differ from the input's by a frame.
fn part_of_map(owned: &Range<usize>, input_px: usize, map_px: usize) -> Range<usize> {
    let frame_added = map_px.saturating_sub(input_px) / 2;
    let frame_lost = input_px.saturating_sub(map_px) / 2;
    let place = |at: usize| (at + frame_added).saturating_sub(frame_lost).min(map_px);
    let start = match owned.start {
        0 => 0,
        start => place(start),
    };
    let end = match owned.end {
        end if end >= input_px => map_px,
        end => place(end),
    };
    start..end.max(start)
}
