//! Runs networks on the CPU, forward and backward.
//!
//! A batch is split into blocks of samples. A block passes all layers at once, so that its maps stay in cache, and blocks
//! run in parallel. Parameter gradients are summed in a fixed order, so that results do not depend on the number of
//! threads.

mod backward;
mod block;
mod convolution;
mod norms;
mod order;
mod pixelwise;
mod program;
mod stem;
mod store;
mod tiled;
mod weights;

pub use norms::{NormStatistics, NormSums, OwnedPart};
pub use stem::InputStatistics;

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

/// Parts in which gradients of parameters are summed, whatever the number of threads.
const GRADIENT_PARTS: usize = 4;
/// Values that one thread adds up at a time.
const SUM_CHUNK: usize = 16 * 1024;
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
    /// Of the parameters, `[parameter_count]`.
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
    batch: usize,
    /// Empty where the stem leaves them as they are.
    images: Vec<f32>,
    moments: Option<ChannelMoments>,
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
        let (outputs, _) = self.run(parameters, images, statistics, Keep::Output, None)?;
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
        let (outputs, ..) = self.run_packed(pass, images, statistics, Keep::Output);
        Ok(outputs)
    }

    /// As [`Executor::forward`], and records what [`Executor::backward`] needs.
    ///
    /// # Errors
    /// As [`Executor::forward`].
    pub fn forward_with_tape(
        &self,
        parameters: &[f32],
        images: &[f32],
        statistics: InputStatistics<'_>,
    ) -> Result<(Vec<f32>, Tape), ExecutorError> {
        if self.network.is_forward_only() {
            return Err(ExecutorError::ForwardOnly);
        }
        let (outputs, mut tape) =
            self.run(parameters, images, statistics, Keep::Convolutions, None)?;
        if self.stem.layers > 0 {
            tape.images = images.to_vec();
        }
        Ok((outputs, tape))
    }

    fn run(
        &self,
        parameters: &[f32],
        images: &[f32],
        statistics: InputStatistics<'_>,
        keep: Keep,
        norms: Option<&NormStatistics>,
    ) -> Result<(Vec<f32>, Tape), ExecutorError> {
        self.check(parameters, images, statistics)?;
        let packed = self
            .layout
            .pack_forward(&self.program, parameters, &self.pool);
        let pass = (parameters, &packed, norms);
        let (outputs, moments, blocks) = self.run_packed(pass, images, statistics, keep);
        let tape = Tape {
            batch: images.len() / self.input.len(),
            images: Vec::new(),
            moments,
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
    ) -> (Vec<f32>, Option<ChannelMoments>, Vec<Block>) {
        let batch = images.len() / self.input.len();
        let moments = self.stem.moments(images, statistics);
        let context = self.context(packed, norms);
        let mut outputs = vec![0.0; batch * self.output.len()];
        let samples = self.block_samples();
        let blocks = images
            .par_chunks(samples * self.input.len())
            .zip(outputs.par_chunks_mut(samples * self.output.len()))
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
        let batch = tape.batch;
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
        let part_len = jobs.len().div_ceil(GRADIENT_PARTS).max(1);
        let parts: Vec<Option<Buffer>> = jobs
            .par_chunks_mut(part_len)
            .map(|jobs| {
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
                packed
            })
            .collect();
        self.pool.give(weights);
        let mut gradients = wanted.parameters.then(|| vec![0.0; parameters.len()]);
        if let Some(gradients) = &mut gradients {
            self.sum_parts(parts, gradients);
        }
        let input = wants_stem.then(|| {
            self.stem.backward(
                &tape.images,
                parameters,
                tape.moments.as_ref(),
                &stem_gradients,
                gradients.as_deref_mut(),
                wanted.input,
            )
        });
        Ok(Gradients {
            input: input.flatten(),
            parameters: gradients,
        })
    }

    /// Adds the parts up in their order, so that the sum does not depend on the threads.
    fn sum_parts(&self, parts: Vec<Option<Buffer>>, gradients: &mut [f32]) {
        let mut parts = parts.into_iter().flatten();
        let Some(mut total) = parts.next() else {
            return;
        };
        let rest: Vec<Buffer> = parts.collect();
        // Buffers of the pool may be longer than asked for, each by a length of its own.
        total[..self.layout.gradient_len()]
            .par_chunks_mut(SUM_CHUNK)
            .enumerate()
            .for_each(|(chunk, sums)| {
                for part in &rest {
                    let values = &part[chunk * SUM_CHUNK..][..sums.len()];
                    for (sum, value) in sums.iter_mut().zip(values) {
                        *sum += value;
                    }
                }
            });
        self.layout
            .unpack_gradients(&self.program, &total, gradients);
        for buffer in rest.into_iter().chain([total]) {
            self.pool.give(buffer);
        }
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
        let samples = outputs.chunks_exact_mut(self.output.len());
        for (output, pixels) in samples.zip(map.chunks(size.len())) {
            order::to_planes(pixels, area, size.channels, output);
        }
    }

    fn write_output_gradient(&self, gradients: &[f32]) -> Buffer {
        let size = self.program.values[self.program.output()].size;
        let samples = gradients.len() / self.output.len();
        let area = size.height * size.width;
        let mut map = self.pool.take(samples * size.len());
        map.fill(0.0);
        let gradients = gradients.chunks_exact(self.output.len());
        for (gradient, pixels) in gradients.zip(map.chunks_mut(size.len())) {
            order::to_pixels(gradient, area, size.channels, pixels);
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
        if let InputStatistics::Given { mean, variance } = statistics {
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
