//! The forward pass of one block of samples.

use super::convolution::Pass;
use super::program::{Action, Program, Step, ValueId};
use super::store::Pool;
use super::weights::PackedLayout;
use crate::buffer::Buffer;
use crate::kernels::elementwise::{Add, Crop};
use crate::kernels::norm::{ApplyNorm, Moments, SampleMoments, affine_form};
use crate::kernels::on_load::OnLoad;
use crate::kernels::padded;
use crate::kernels::pool::{MaxPool, MaxPool3};
use crate::simd::Isa;

/// What every block of one call shares.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub isa: Isa,
    pub program: &'a Program,
    pub layout: &'a PackedLayout,
    pub forward: &'a [f32],
    /// Statistics of the first norms, where they are not those of each sample.
    pub norms: &'a [Moments],
    pub pool: &'a Pool,
}

/// The maps of a block; those that the backward pass needs are kept, the others return to the pool.
pub(super) struct Block {
    pub samples: usize,
    pub values: Vec<Option<Buffer>>,
    /// By norm step, one per sample.
    pub moments: Vec<Vec<Moments>>,
    /// By norm step, the same norms as factors and offsets.
    pub affine: Vec<Vec<f32>>,
}

impl Block {
    /// The map of a value, `length` values long; empty if it is not there.
    pub fn map(&self, value: ValueId, length: usize) -> &[f32] {
        match &self.values[value] {
            Some(buffer) => &buffer[..length],
            None => &[],
        }
    }
}

/// Which maps outlive their last use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Only the output.
    Output,
    /// The outputs of convolutions too: the rest is cheap to compute again.
    Convolutions,
}

impl Context<'_> {
    pub(super) fn len(&self, value: ValueId, samples: usize) -> usize {
        self.program.values[value].size.len() * samples
    }

    /// Runs all steps on a block whose first map is filled in.
    pub fn forward(&self, block: &mut Block, keep: Keep) {
        self.forward_until(block, keep, self.program.steps.len());
    }

    /// Runs the steps before `end`.
    pub fn forward_until(&self, block: &mut Block, keep: Keep, end: usize) {
        let mut scratch = self.scratch();
        for (index, step) in self.program.steps[..end].iter().enumerate() {
            self.step(block, *step, &mut scratch);
            for value in [Some(step.src), step.skip()].into_iter().flatten() {
                let done = self.program.last_use[value] == index;
                let kept = match keep {
                    Keep::Output => false,
                    Keep::Convolutions => value == 0 || self.is_convolved(value),
                };
                if done
                    && !kept
                    && let Some(buffer) = block.values[value].take()
                {
                    self.pool.give(buffer);
                }
            }
        }
        self.pool.give(scratch);
    }

    /// Computes again what [`Keep::Convolutions`] did not keep.
    pub fn restore(&self, block: &mut Block) {
        let mut scratch = self.scratch();
        for step in &self.program.steps {
            if block.values[step.dst].is_none() && !self.program.deferred[step.dst] {
                self.step(block, *step, &mut scratch);
            }
        }
        self.pool.give(scratch);
    }

    pub(super) fn scratch(&self) -> Buffer {
        let scratch_len = |layer: &super::convolution::ConvolutionLayer| layer.scratch_len();
        let length = self.program.convolutions.iter().map(scratch_len).max();
        self.pool.take(length.unwrap_or(0))
    }

    /// A value as a convolution reads it; for a deferred norm, its source and the norm to apply on load.
    pub(super) fn source<'a>(
        &self,
        block: &'a Block,
        value: ValueId,
    ) -> (&'a [f32], Option<OnLoad<'a>>) {
        let samples = block.samples;
        if self.program.deferred[value]
            && let Step {
                src,
                action: Action::Normalise { moments, relu, .. },
                ..
            } = self.program.steps[value - 1]
        {
            let affine = &block.affine[moments];
            let on_load = OnLoad { affine, relu };
            return (block.map(src, self.len(src, samples)), Some(on_load));
        }
        (block.map(value, self.len(value, samples)), None)
    }

    fn is_convolved(&self, value: ValueId) -> bool {
        // Value n is the result of step n - 1.
        value > 0
            && matches!(
                self.program.steps[value - 1].action,
                Action::Convolve { .. }
            )
    }

    pub(super) fn norm_parameters(&self, layer: usize) -> (&[f32], &[f32]) {
        let channels = padded(self.program.norms[layer].channels);
        self.forward[self.layout.norms[layer]..][..2 * channels].split_at(channels)
    }

    pub(super) fn crop(&self, value: ValueId, frame: usize) -> Crop {
        let size = self.program.values[value].size;
        Crop {
            height: size.height,
            width: size.width,
            channels: size.channels,
            frame,
        }
    }

    fn step(&self, block: &mut Block, step: Step, scratch: &mut Buffer) {
        let samples = block.samples;
        if let Action::Normalise { layer, moments, .. } = step.action {
            self.compute_moments(block, step.src, layer, moments);
            if self.program.deferred[step.dst] {
                return;
            }
        }
        let mut dst = self.pool.take(self.len(step.dst, samples));
        let to = &mut dst[..self.len(step.dst, samples)];
        let map = |value: ValueId| block.map(value, self.len(value, samples));
        let (src, on_load) = self.source(block, step.src);
        let [from, out] = [step.src, step.dst].map(|value| self.program.values[value]);
        match step.action {
            Action::Convolve { layer, activation } => {
                let convolution = &self.program.convolutions[layer];
                let packed =
                    &self.forward[self.layout.forward[layer]..][..convolution.forward_len()];
                let scratch = &mut scratch[..];
                let pass = Pass {
                    samples,
                    from: src,
                    on_load,
                    to,
                    scratch,
                };
                convolution.forward(self.isa, pass, packed, activation);
            }
            Action::Normalise {
                moments,
                skip,
                relu,
                ..
            } => {
                let kernel = ApplyNorm {
                    crop: self.crop(step.dst, skip.map_or(0, |skip| skip.frame)),
                    samples,
                    src,
                    skip: skip.map(|skip| map(skip.value)),
                    dst: to,
                    affine: &block.affine[moments],
                    relu,
                };
                // SAFETY: the executor has checked the instruction set. The kernel slices its rows with checks; their
                // channels are `out.size.channels`.
                unsafe { self.isa.launch(out.size.channels, kernel) };
            }
            Action::Add { skip, relu } => {
                let kernel = Add {
                    crop: self.crop(step.dst, skip.frame),
                    samples,
                    src,
                    skip: map(skip.value),
                    dst: to,
                    relu,
                };
                // SAFETY: as for `ApplyNorm`.
                unsafe { self.isa.launch(out.size.channels, kernel) };
            }
            Action::Relu => {
                for (to, value) in to.iter_mut().zip(src) {
                    *to = value.max(0.0);
                }
            }
            Action::MaxPool => {
                let kernel = MaxPool {
                    src_size: from.size,
                    dst_size: out.size,
                    samples,
                    src: &src[..self.len(step.src, samples)],
                    dst: to,
                };
                // SAFETY: the executor has checked the instruction set. Both slices hold `samples` maps of their sizes,
                // which `Layer::output_shape` relates and which share their channels.
                unsafe { self.isa.launch(out.size.channels, kernel) };
            }
            Action::MaxPool3 => {
                let kernel = MaxPool3 {
                    src_size: from.size,
                    dst_size: out.size,
                    samples,
                    src: &src[..self.len(step.src, samples)],
                    dst: to,
                };
                // SAFETY: as for `MaxPool`.
                unsafe { self.isa.launch(out.size.channels, kernel) };
            }
            Action::Mean => super::pixelwise::mean(src, to, out.size.channels),
            Action::Sigmoid => super::pixelwise::sigmoid(src, to, out),
            Action::Softplus => super::pixelwise::softplus(src, to, out),
            Action::Softmax => super::pixelwise::softmax(src, to, out),
            Action::ReflectPad { px } => super::pixelwise::reflect_pad(src, to, from.size, px),
        }
        block.values[step.dst] = Some(dst);
    }

    /// Computes the moments of a norm step and its affine form, unless they are known.
    fn compute_moments(&self, block: &mut Block, src: ValueId, layer: usize, moments: usize) {
        let samples = block.samples;
        if block.moments[moments].len() == samples {
            return;
        }
        let found = match self.norms.get(moments) {
            Some(&known) => vec![known; samples],
            None => self.sample_moments(block, src),
        };
        let (scale, shift) = self.norm_parameters(layer);
        affine_form(&found, scale, shift, &mut block.affine[moments]);
        block.moments[moments] = found;
    }

    fn sample_moments(&self, block: &Block, src: ValueId) -> Vec<Moments> {
        let samples = block.samples;
        let value = self.program.values[src];
        let mut found = vec![Moments::default(); samples];
        let kernel = SampleMoments {
            crop: self.crop(src, 0),
            real_channels: value.channels,
            src: block.map(src, self.len(src, samples)),
            moments: &mut found,
        };
        // SAFETY: the executor has checked the instruction set. The kernel slices samples and rows with checks.
        unsafe { self.isa.launch(value.size.channels, kernel) };
        found
    }
}
