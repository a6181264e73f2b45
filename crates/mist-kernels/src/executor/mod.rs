//! Runs networks on the CPU, forward and backward.
//!
//! A batch is split into blocks of samples. A block passes all layers at once, so that its maps stay in cache, and blocks
//! run in parallel. Parameter gradients are summed apart for each of a few parts of the batch, each by one thread, so that
//! results do not depend on the number of threads; whoever holds only some of the parts computes the same sums for them.

mod backward;
mod block;
mod convolution;
mod norms;
mod pixelwise;
mod program;
mod stem;
mod store;
mod tiled;
mod weights;

pub use norms::{NormStatistics, NormSums, OwnedPart};
pub use stem::{InputStatistics, moments_of_sums};

use std::ops::Range;
use std::sync::Arc;

use block::{Block, Context, Keep};
use program::Program;
use rayon::prelude::*;
use stem::{ChannelMoments, Stem};
use store::Pool;
use weights::PackedLayout;

use crate::buffer::Buffer;
use crate::network::{Network, NetworkError, Shape};
use crate::simd::{Isa, IsaError, Precision};
use crate::tiles::TileUnit;

/// Values that a block's largest map should have.
const BLOCK_VALUES: usize = 128 * 1024;
const MAX_BLOCK_SAMPLES: usize = 16;

/// Errors of an [`Executor`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecutorError {
    /// The network cannot read this size.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// This machine lacks the instruction set.
    #[error(transparent)]
    Isa(#[from] IsaError),
    /// A slice of the wrong length.
    #[error("{what} should hold {expected} values, not {actual}")]
    Length {
        /// Which one.
        what: &'static str,
        /// What it should hold.
        expected: usize,
        /// What it holds.
        actual: usize,
    },
    /// A tape of a network that has layers without a backward pass.
    #[error("the network has layers that only run forward: its gradients cannot be computed here")]
    ForwardOnly,
    /// Gradients of images whose batch norm saw other images too.
    #[error("the gradient of images cannot be computed from a part of their batch")]
    PartOfBatch,
    /// A tape for [`Executor::backward`] that another executor recorded.
    #[error("the tape was recorded by another executor; use the one that ran the forward pass")]
    ForeignTape,
}

/// Which gradients the caller needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Of the input.
    pub input: bool,
    /// Of the parameters.
    pub parameters: bool,
}

/// Gradients of a network; `None` where not wanted.
#[derive(Clone, Debug, Default)]
pub struct Gradients {
    /// Of the input, `[batch, channels, height, width]`.
    pub input: Option<Vec<f32>>,
    /// Of the parameters, `[parts, parameter_count]`: those of each part of the batch.
    pub parameters: Option<Vec<f32>>,
}

/// A network compiled for one input size and one instruction set.
pub struct Executor {
    network: Network,
    input: Shape,
    output: Shape,
    stem: Stem,
    program: Program,
    layout: PackedLayout,
    isa: Isa,
    pool: Arc<Pool>,
}

/// What a forward pass records for its backward pass.
pub struct Tape {
    images: Vec<f32>,
    moments: Option<ChannelMoments>,
    /// Samples of each part of the batch.
    parts: Vec<Range<usize>>,
    blocks: Vec<Block>,
    packed: Buffer,
    pool: Arc<Pool>,
}

/// Weights in the order of the kernels; see [`Executor::prepare`].
pub struct PreparedWeights {
    packed: Buffer,
    /// As they were given: the stem reads its norm from them.
    parameters: Vec<f32>,
    pool: Arc<Pool>,
}

impl Drop for Tape {
    fn drop(&mut self) {
        let blocks = std::mem::take(&mut self.blocks);
        for buffer in blocks.into_iter().flat_map(|block| block.values).flatten() {
            self.pool.give(buffer);
        }
        self.pool.give(std::mem::take(&mut self.packed));
    }
}

impl Executor {
    /// Compiles a network for samples of shape `input`.
    ///
    /// # Errors
    /// When the network cannot read them or this machine lacks the instruction set.
    pub fn new(
        network: &Network,
        input: Shape,
        isa: Isa,
        precision: Precision,
    ) -> Result<Self, ExecutorError> {
        let isa = isa.checked()?;
        Self::compile(network, input, isa, precision.tiles(isa))
    }

    /// Compiles for AMX without a check that the processor has it.
    ///
    /// # Errors
    /// As [`Executor::new`].
    ///
    /// # Safety
    /// AMX is present and permitted, or the caller handles the instructions itself when they trap.
    #[doc(hidden)]
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    pub unsafe fn with_unchecked_amx(
        network: &Network,
        input: Shape,
        isa: Isa,
    ) -> Result<Self, ExecutorError> {
        Self::compile(network, input, isa.checked()?, Some(TileUnit::Amx))
    }

    fn compile(
        network: &Network,
        input: Shape,
        isa: Isa,
        tiles: Option<TileUnit>,
    ) -> Result<Self, ExecutorError> {
        let output = network.output_shape(input)?;
        let stem = Stem::new(network, input);
        let program = Program::compile(network, stem.layers, stem.output(), tiles)?;
        Ok(Self {
            network: network.clone(),
            input,
            output,
            layout: PackedLayout::new(&program),
            stem,
            program,
            isa,
            pool: Arc::default(),
        })
    }

    /// Shape of one sample of the output.
    pub fn output_shape(&self) -> Shape {
        self.output
    }

    /// Runs the network.
    ///
    /// # Shapes
    /// - `parameters`: `[parameter_count]`
    /// - `images`: `[batch, channels, height, width]`, row-major
    /// - output: `[batch, out_channels, out_height, out_width]`
    ///
    /// # Errors
    /// When a slice has the wrong length.
    pub fn forward(
        &self,
        parameters: &[f32],
        images: &[f32],
        statistics: InputStatistics<'_>,
    ) -> Result<Vec<f32>, ExecutorError> {
        let (outputs, _) = self.run(parameters, images, statistics, Keep::Output, (1, None))?;
        Ok(outputs)
    }

    /// Weights in the order of the kernels, for networks that run often and never change.
    ///
    /// # Errors
    /// When the slice has the wrong length.
    pub fn prepare(&self, parameters: &[f32]) -> Result<PreparedWeights, ExecutorError> {
        let expected = self.network.parameter_count();
        expect_len("parameters", parameters.len(), expected)?;
        let packed = self
            .layout
            .pack_forward(&self.program, parameters, &self.pool);
        Ok(PreparedWeights {
            packed,
            parameters: parameters.to_vec(),
            pool: Arc::clone(&self.pool),
        })
    }

    /// As [`Executor::forward`] with weights that [`Executor::prepare`] of this executor gave.
    ///
    /// # Errors
    /// When a slice has the wrong length or another executor prepared the weights.
    pub fn forward_prepared(
        &self,
        weights: &PreparedWeights,
        images: &[f32],
        statistics: InputStatistics<'_>,
    ) -> Result<Vec<f32>, ExecutorError> {
        // An executor's pool is its own.
        if !Arc::ptr_eq(&self.pool, &weights.pool) {
            return Err(ExecutorError::ForeignTape);
        }
        let parameters = &weights.parameters;
        self.check(parameters, images, statistics)?;
        let packed = &weights.packed;
        let pass = (parameters.as_slice(), packed, None);
        let whole = self.parts(images, 1);
        let (outputs, ..) = self.run_packed(pass, images, statistics, Keep::Output, &whole);
        Ok(outputs)
    }

    /// As [`Executor::forward`], and records what [`Executor::backward`] needs to sum the gradients of `parts` equal parts of
    /// the batch.
    ///
    /// # Errors
    /// As [`Executor::forward`].
    pub fn forward_with_tape(
        &self,
        parameters: &[f32],
        images: &[f32],
        statistics: InputStatistics<'_>,
        parts: usize,
    ) -> Result<(Vec<f32>, Tape), ExecutorError> {
        if self.network.is_forward_only() {
            return Err(ExecutorError::ForwardOnly);
        }
        let keep = Keep::Convolutions;
        let (outputs, mut tape) = self.run(parameters, images, statistics, keep, (parts, None))?;
        tape.images = images.to_vec();
        Ok((outputs, tape))
    }

    fn run(
        &self,
        parameters: &[f32],
        images: &[f32],
        statistics: InputStatistics<'_>,
        keep: Keep,
        (parts, norms): (usize, Option<&NormStatistics>),
    ) -> Result<(Vec<f32>, Tape), ExecutorError> {
        self.check(parameters, images, statistics)?;
        let packed = self
            .layout
            .pack_forward(&self.program, parameters, &self.pool);
        let pass = (parameters, &packed, norms);
        let parts = self.parts(images, parts);
        let (outputs, moments, blocks) = self.run_packed(pass, images, statistics, keep, &parts);
        let tape = Tape {
            images: Vec::new(),
            moments,
            parts,
            blocks,
            packed,
            pool: Arc::clone(&self.pool),
        };
        Ok((outputs, tape))
    }

    /// Outputs, moments of the stem and blocks, of weights in both orders and images that fit.
    fn run_packed(
        &self,
        (parameters, packed, norms): (&[f32], &Buffer, Option<&NormStatistics>),
        images: &[f32],
        statistics: InputStatistics<'_>,
        keep: Keep,
        parts: &[Range<usize>],
    ) -> (Vec<f32>, Option<ChannelMoments>, Vec<Block>) {
        let batch = images.len() / self.input.len();
        let moments = self.stem.moments(images, statistics);
        let context = self.context(packed, norms);
        let mut outputs = vec![0.0; batch * self.output.len()];
        let mut rest = outputs.as_mut_slice();
        let mut jobs = Vec::new();
        for block in parts.iter().flat_map(|part| self.blocks(part)) {
            let (outputs, after) = rest.split_at_mut(block.len() * self.output.len());
            rest = after;
            let images = &images[block.start * self.input.len()..block.end * self.input.len()];
            jobs.push((images, outputs));
        }
        let blocks = jobs
            .into_par_iter()
            .map(|(images, outputs)| {
                let mut block = self.start(images, parameters, moments.as_ref());
                context.forward(&mut block, keep);
                self.read_output(&block, outputs);
                if keep == Keep::Output {
                    for buffer in block.values.drain(..).flatten() {
                        self.pool.give(buffer);
                    }
                }
                block
            })
            .collect();
        (outputs, moments, blocks)
    }

    /// Gradients of the input and the parameters from that of the outputs.
    ///
    /// # Shapes
    /// - `parameters`: `[parameter_count]`, those of the forward pass
    /// - `output_gradients`: `[batch, out_channels, out_height, out_width]`, row-major
    ///
    /// # Errors
    /// When a slice has the wrong length or another executor recorded the tape.
    pub fn backward(
        &self,
        parameters: &[f32],
        mut tape: Tape,
        output_gradients: &[f32],
        wanted: Wanted,
    ) -> Result<Gradients, ExecutorError> {
        // An executor's pool is its own.
        if !Arc::ptr_eq(&self.pool, &tape.pool) {
            return Err(ExecutorError::ForeignTape);
        }
        if wanted.input
            && tape
                .moments
                .as_ref()
                .is_some_and(ChannelMoments::are_shared)
        {
            return Err(ExecutorError::PartOfBatch);
        }
        let batch = tape.images.len() / self.input.len();
        expect_len(
            "parameters",
            parameters.len(),
            self.network.parameter_count(),
        )?;
        expect_len(
            "output gradients",
            output_gradients.len(),
            batch * self.output.len(),
        )?;
        let context = self.context(&tape.packed, None);
        let weights = self
            .layout
            .pack_backward(&self.program, parameters, &self.pool);
        let stem_len = self.program.values[0].size.len();
        let wants_stem = wanted.input || (wanted.parameters && tape.moments.is_some());
        let mut stem_gradients = vec![0.0; if wants_stem { batch * stem_len } else { 0 }];
        let mut jobs = self.jobs(
            &mut tape.blocks,
            output_gradients,
            &mut stem_gradients,
            wants_stem,
        );
        let count = parameters.len();
        let rows = if wanted.parameters {
            tape.parts.len()
        } else {
            0
        };
        let mut gradients = vec![0.0; rows * count];
        let mut rest = gradients.as_mut_slice();
        let mut parts = Vec::with_capacity(tape.parts.len());
        for part in &tape.parts {
            let later = jobs.split_off(self.blocks(part).count());
            let own = std::mem::replace(&mut jobs, later);
            let (row, after) = rest.split_at_mut(if wanted.parameters { count } else { 0 });
            rest = after;
            parts.push((own, row));
        }
        parts.into_par_iter().for_each(|(jobs, row)| {
            let mut packed = wanted
                .parameters
                .then(|| self.pool.zeros(self.layout.gradient_len()));
            for job in jobs {
                context.restore(job.block);
                let gradient = self.write_output_gradient(job.output_gradients);
                let sums = packed.as_deref_mut();
                let first = context.backward(job.block, gradient, &weights, sums, wants_stem);
                if let Some(first) = first {
                    job.stem_gradients
                        .copy_from_slice(&first[..job.stem_gradients.len()]);
                    self.pool.give(first);
                }
                for buffer in job.block.values.iter_mut().filter_map(Option::take) {
                    self.pool.give(buffer);
                }
            }
            if let Some(packed) = packed {
                self.layout.unpack_gradients(&self.program, &packed, row);
                self.pool.give(packed);
            }
        });
        self.pool.give(weights);
        let mut gradients = wanted.parameters.then_some(gradients);
        let input = wants_stem.then(|| {
            let passed = stem::Passed {
                images: &tape.images,
                moments: tape.moments.as_ref(),
                parts: &tape.parts,
            };
            let rows = gradients.as_deref_mut();
            self.stem
                .backward(passed, parameters, &stem_gradients, rows, wanted.input)
        });
        Ok(Gradients {
            input: input.flatten(),
            parameters: gradients,
        })
    }

    /// Sums over the input of the first layer, for a batch norm of more images than these: `[1 + 2 * channels]`, the number
    /// of values per channel, then the sum of each channel's values and that of their squares. Without a batch norm nothing.
    ///
    /// # Errors
    /// When the slice has the wrong length.
    pub fn input_sums(&self, images: &[f32]) -> Result<Vec<f64>, ExecutorError> {
        let batch = images.len() / self.input.len();
        expect_len("images", images.len(), batch * self.input.len())?;
        Ok(self.stem.sums(images))
    }

    /// Equal parts of a batch, as nearly as they can be; the same for whoever holds half of the images and half of the parts.
    fn parts(&self, images: &[f32], parts: usize) -> Vec<Range<usize>> {
        let batch = images.len() / self.input.len();
        let parts = parts.max(1);
        (0..parts)
            .map(|part| part * batch / parts..(part + 1) * batch / parts)
            .collect()
    }

    /// The blocks of a part.
    fn blocks(&self, part: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        let (samples, end) = (self.block_samples(), part.end);
        part.clone()
            .step_by(samples)
            .map(move |start| start..(start + samples).min(end))
    }

    fn jobs<'a>(
        &self,
        blocks: &'a mut [Block],
        output_gradients: &'a [f32],
        stem_gradients: &'a mut [f32],
        wants_stem: bool,
    ) -> Vec<Job<'a>> {
        let stem_len = self.program.values[0].size.len();
        let mut stem_gradients = stem_gradients;
        let mut output_gradients = output_gradients;
        let mut jobs = Vec::with_capacity(blocks.len());
        for block in blocks {
            let samples = block.samples;
            let (outputs, rest) = output_gradients.split_at(samples * self.output.len());
            output_gradients = rest;
            let length = if wants_stem { samples * stem_len } else { 0 };
            let (stem, rest) = stem_gradients.split_at_mut(length);
            stem_gradients = rest;
            jobs.push(Job {
                block,
                output_gradients: outputs,
                stem_gradients: stem,
            });
        }
        jobs
    }

    fn context<'a>(&'a self, packed: &'a [f32], norms: Option<&'a NormStatistics>) -> Context<'a> {
        Context {
            isa: self.isa,
            program: &self.program,
            layout: &self.layout,
            forward: packed,
            norms: norms.map_or(&[], |norms| &norms.known),
            pool: &self.pool,
        }
    }

    fn block_samples(&self) -> usize {
        (BLOCK_VALUES / self.program.largest().max(1)).clamp(1, MAX_BLOCK_SAMPLES)
    }

    fn start(&self, images: &[f32], parameters: &[f32], moments: Option<&ChannelMoments>) -> Block {
        let samples = images.len() / self.input.len();
        let stem_len = self.program.values[0].size.len();
        let mut first = self.pool.take(samples * stem_len);
        for (image, to) in images
            .chunks_exact(self.input.len())
            .zip(first.chunks_exact_mut(stem_len))
        {
            self.stem.forward(image, parameters, moments, to);
        }
        let mut values = Vec::new();
        values.resize_with(self.program.values.len(), || None);
        values[0] = Some(first);
        let norm_steps = self.program.norm_steps;
        Block {
            samples,
            values,
            moments: vec![Vec::new(); norm_steps],
            affine: vec![Vec::new(); norm_steps],
        }
    }

    fn read_output(&self, block: &Block, outputs: &mut [f32]) {
        let size = self.program.values[self.program.output()].size;
        let Some(map) = &block.values[self.program.output()] else {
            return;
        };
        let area = size.height * size.width;
        for (sample, output) in outputs.chunks_exact_mut(self.output.len()).enumerate() {
            for (channel, output) in output.chunks_exact_mut(area).enumerate() {
                for (pixel, output) in output.iter_mut().enumerate() {
                    *output = map[sample * size.len() + pixel * size.channels + channel];
                }
            }
        }
    }

    fn write_output_gradient(&self, gradients: &[f32]) -> Buffer {
        let size = self.program.values[self.program.output()].size;
        let samples = gradients.len() / self.output.len();
        let area = size.height * size.width;
        let mut map = self.pool.take(samples * size.len());
        map.fill(0.0);
        for (sample, gradient) in gradients.chunks_exact(self.output.len()).enumerate() {
            for (channel, gradient) in gradient.chunks_exact(area).enumerate() {
                for (pixel, gradient) in gradient.iter().enumerate() {
                    map[sample * size.len() + pixel * size.channels + channel] = *gradient;
                }
            }
        }
        map
    }

    fn check(
        &self,
        parameters: &[f32],
        images: &[f32],
        statistics: InputStatistics<'_>,
    ) -> Result<usize, ExecutorError> {
        expect_len(
            "parameters",
            parameters.len(),
            self.network.parameter_count(),
        )?;
        let sample = self.input.len();
        let batch = images.len() / sample;
        expect_len("images", images.len(), batch * sample)?;
        if let InputStatistics::Given { mean, variance }
        | InputStatistics::OfWholeBatch { mean, variance } = statistics
        {
            expect_len("input means", mean.len(), self.input.channels)?;
            expect_len("input variances", variance.len(), self.input.channels)?;
        }
        Ok(batch)
    }
}

struct Job<'a> {
    block: &'a mut Block,
    output_gradients: &'a [f32],
    stem_gradients: &'a mut [f32],
}

fn expect_len(what: &'static str, actual: usize, expected: usize) -> Result<(), ExecutorError> {
    if actual == expected {
        Ok(())
    } else {
        Err(ExecutorError::Length {
            what,
            expected,
            actual,
        })
    }
}
