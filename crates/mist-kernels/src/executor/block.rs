//! A block of samples on its way through the program, forward and back.

use super::convolution::Pass;
use super::program::{Action, Program, Skip, Step, ValueId};
use super::store::Pool;
use super::weights::PackedLayout;
use crate::buffer::Buffer;
use crate::kernels::elementwise::{AddRelu, AddToSkip, Crop, MaskPositive};
use crate::kernels::norm::{
    ApplyNorm, Moments, NormGradient, Rectifier, SampleMoments, affine_form,
};
use crate::kernels::padded;
use crate::kernels::pool::{MaxPool, MaxPoolGradient};
use crate::kernels::winograd::OnLoad;
use crate::simd::Isa;

/// What every block of one call shares.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub isa: Isa,
    pub program: &'a Program,
    pub layout: &'a PackedLayout,
    pub forward: &'a [f32],
    pub pool: &'a Pool,
}

/// The maps of a block; what is kept for the way back stays, the rest returns to the pool.
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
    fn map(&self, value: ValueId, length: usize) -> &[f32] {
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
    /// The convolutions' results too: the rest is cheap to compute again.
    Convolutions,
}

impl Context<'_> {
    fn len(&self, value: ValueId, samples: usize) -> usize {
        self.program.values[value].side.len() * samples
    }

    /// Runs all steps on a block whose first map is filled in.
    pub fn forward(&self, block: &mut Block, keep: Keep) {
        let mut scratch = self.scratch();
        for (index, step) in self.program.steps.iter().enumerate() {
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

    /// Computes again what [`Keep::Convolutions`] let go.
    pub fn restore(&self, block: &mut Block) {
        let mut scratch = self.scratch();
        for step in &self.program.steps {
            if block.values[step.dst].is_none() && !self.program.deferred[step.dst] {
                self.step(block, *step, &mut scratch);
            }
        }
        self.pool.give(scratch);
    }

    fn scratch(&self) -> Buffer {
        let scratch_len = |layer: &super::convolution::ConvolutionLayer| layer.scratch_len();
        let length = self.program.convolutions.iter().map(scratch_len).max();
        self.pool.take(length.unwrap_or(0))
    }

    /// A value as a convolution reads it: a deferred norm is its source and what to do on load.
    fn source<'a>(&self, block: &'a Block, value: ValueId) -> (&'a [f32], Option<OnLoad<'a>>) {
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

    fn norm_parameters(&self, layer: usize) -> (&[f32], &[f32]) {
        let channels = padded(self.program.norms[layer].channels);
        self.forward[self.layout.norms[layer]..][..2 * channels].split_at(channels)
    }

    fn crop(&self, value: ValueId, frame: usize) -> Crop {
        let side = self.program.values[value].side;
        Crop {
            height: side.height,
            width: side.width,
            channels: side.channels,
            frame,
        }
    }

    fn step(&self, block: &mut Block, step: Step, scratch: &mut Buffer) {
        let samples = block.samples;
        if let Action::Normalise { layer, moments, .. } = step.action {
            self.find_moments(block, step.src, layer, moments);
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
            Action::Convolve { layer, relu } => {
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
                convolution.forward(self.isa, pass, packed, relu);
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
                // SAFETY: the kernel slices every row with checks and stays inside it.
                unsafe { self.isa.launch(out.side.channels, kernel) };
            }
            Action::AddRelu { skip } => {
                let kernel = AddRelu {
                    crop: self.crop(step.dst, skip.frame),
                    samples,
                    src,
                    skip: map(skip.value),
                    dst: to,
                };
                // SAFETY: as above.
                unsafe { self.isa.launch(out.side.channels, kernel) };
            }
            Action::Relu => {
                for (to, value) in to.iter_mut().zip(src) {
                    *to = value.max(0.0);
                }
            }
            Action::MaxPool => {
                let kernel = MaxPool {
                    src_side: from.side,
                    dst_side: out.side,
                    samples,
                    src,
                    dst: to,
                };
                // SAFETY: windows lie inside the source map.
                unsafe { self.isa.launch(out.side.channels, kernel) };
            }
            Action::Mean => super::pixelwise::mean(src, to, out.side.channels),
            Action::Sigmoid => super::pixelwise::sigmoid(src, to, out),
            Action::Softmax => super::pixelwise::softmax(src, to, out),
            Action::ReflectPad { px } => super::pixelwise::reflect_pad(src, to, from.side, px),
        }
        block.values[step.dst] = Some(dst);
    }

    /// Fills in the moments of a norm step, unless they are known, and its affine form.
    fn find_moments(&self, block: &mut Block, src: ValueId, layer: usize, moments: usize) {
        let samples = block.samples;
        if block.moments[moments].len() == samples {
            return;
        }
        let value = self.program.values[src];
        let mut found = vec![Moments::default(); samples];
        let kernel = SampleMoments {
            crop: self.crop(src, 0),
            real_channels: value.channels,
            src: block.map(src, self.len(src, samples)),
            moments: &mut found,
        };
        // SAFETY: rows are sliced with checks.
        unsafe { self.isa.launch(value.side.channels, kernel) };
        let (scale, shift) = self.norm_parameters(layer);
        affine_form(&found, scale, shift, &mut block.affine[moments]);
        block.moments[moments] = found;
    }

    /// Carries the gradient of the output back through the block. Adds parameter gradients to `packed` where given
    /// and returns the gradient of the first map where wanted.
    pub fn backward(
        &self,
        block: &Block,
        output_gradient: Buffer,
        backward_weights: &[f32],
        mut packed: Option<&mut [f32]>,
        wants_input: bool,
    ) -> Option<Buffer> {
        let samples = block.samples;
        let mut scratch = self.scratch();
        let mut gradients: Vec<Option<Buffer>> = Vec::new();
        gradients.resize_with(self.program.values.len(), || None);
        gradients[self.program.output()] = Some(output_gradient);
        let mut norm_scratch = Buffer::default();
        for step in self.program.steps.iter().rev() {
            let Some(mut gradient) = gradients[step.dst].take() else {
                continue;
            };
            let needed = wants_input || step.src != 0;
            let [from, out] = [step.src, step.dst].map(|value| self.program.values[value]);
            let map = |value: ValueId| block.map(value, self.len(value, samples));
            let len = self.len(step.dst, samples);
            match step.action {
                Action::Convolve { layer, relu } => {
                    let convolution = &self.program.convolutions[layer];
                    if relu {
                        self.mask(map(step.dst), &mut gradient[..len]);
                    }
                    if let Some(packed) = packed.as_deref_mut() {
                        let start = self.layout.forward[layer];
                        let packed = &mut packed[start..][..convolution.forward_len()];
                        let src = self.source(block, step.src);
                        let gradient = &gradient[..len];
                        convolution.weight_gradient(
                            self.isa,
                            samples,
                            src,
                            gradient,
                            packed,
                            &mut scratch,
                        );
                    }
                    if needed {
                        let start = self.layout.backward[layer];
                        let weights = &backward_weights[start..][..convolution.backward_len()];
                        let (mut to, accumulate) = match gradients[step.src].take() {
                            Some(buffer) => (buffer, true),
                            None => (self.pool.take(self.len(step.src, samples)), false),
                        };
                        let length = self.len(step.src, samples);
                        let pass = Pass {
                            samples,
                            from: &gradient[..len],
                            on_load: None,
                            to: &mut to[..length],
                            scratch: &mut scratch[..],
                        };
                        convolution.backward(self.isa, pass, weights, accumulate);
                        gradients[step.src] = Some(to);
                    }
                    self.pool.give(gradient);
                }
                Action::Normalise {
                    layer,
                    moments,
                    skip,
                    relu,
                } => {
                    let mut skip_gradient = None;
                    if let Some(skip) = skip.filter(|skip| wants_input || skip.value != 0) {
                        if gradients[skip.value].is_none() {
                            let length = self.len(skip.value, samples);
                            skip_gradient = Some((skip.value, self.pool.take(length), length));
                        } else {
                            self.mask(map(step.dst), &mut gradient[..len]);
                            let rectified = &gradient[..len];
                            self.add_to(&mut gradients, skip, step.dst, rectified, samples, true);
                        }
                    }
                    let channels = padded(self.program.norms[layer].channels);
                    let (scale, _) = self.norm_parameters(layer);
                    let sums = match packed.as_deref_mut() {
                        Some(packed) => &mut packed[self.layout.norms[layer]..][..2 * channels],
                        None => norm_scratch.at_least(2 * channels),
                    };
                    let (scale_gradient, shift_gradient) = sums.split_at_mut(channels);
                    let kernel = NormGradient {
                        crop: self.crop(step.dst, skip.map_or(0, |skip| skip.frame)),
                        samples,
                        real_channels: out.channels,
                        src: map(step.src),
                        moments: &block.moments[moments],
                        scale,
                        affine: &block.affine[moments],
                        gradient: &mut gradient[..len],
                        rectifier: match relu {
                            false => Rectifier::Absent,
                            true if self.program.deferred[step.dst] => Rectifier::Recomputed,
                            true => Rectifier::Output(map(step.dst)),
                        },
                        skip_gradient: skip_gradient
                            .as_mut()
                            .map(|(_, buffer, length)| &mut buffer[..*length]),
                        scale_gradient,
                        shift_gradient,
                    };
                    // SAFETY: all maps have the crop's size, which bounds every access.
                    unsafe { self.isa.launch(out.side.channels, kernel) };
                    if let Some((value, buffer, _)) = skip_gradient {
                        gradients[value] = Some(buffer);
                    }
                    self.hand_on(&mut gradients, step, gradient, samples, needed);
                }
                Action::AddRelu { skip } => {
                    self.mask(map(step.dst), &mut gradient[..len]);
                    self.add_to(
                        &mut gradients,
                        skip,
                        step.dst,
                        &gradient[..len],
                        samples,
                        wants_input,
                    );
                    self.hand_on(&mut gradients, step, gradient, samples, needed);
                }
                Action::Relu => {
                    self.mask(map(step.dst), &mut gradient[..len]);
                    self.hand_on(&mut gradients, step, gradient, samples, needed);
                }
                Action::Sigmoid => {
                    super::pixelwise::sigmoid_gradient(map(step.dst), &mut gradient[..len]);
                    self.hand_on(&mut gradients, step, gradient, samples, needed);
                }
                Action::Softmax => {
                    super::pixelwise::softmax_gradient(map(step.dst), &mut gradient[..len], out);
                    self.hand_on(&mut gradients, step, gradient, samples, needed);
                }
                Action::MaxPool | Action::Mean | Action::ReflectPad { .. } => {
                    let length = self.len(step.src, samples);
                    let mut wider = self.pool.take(length);
                    let to = &mut wider[..length];
                    let gradient_map = &gradient[..len];
                    match step.action {
                        Action::MaxPool => MaxPoolGradient {
                            src_side: from.side,
                            dst_side: out.side,
                            samples,
                            src: map(step.src),
                            gradient: gradient_map,
                            src_gradient: to,
                        }
                        .apply(),
                        Action::ReflectPad { px } => {
                            super::pixelwise::reflect_pad_gradient(gradient_map, to, from.side, px);
                        }
                        _ => super::pixelwise::mean_gradient(gradient_map, to, out.side.channels),
                    }
                    self.pool.give(gradient);
                    self.hand_on(&mut gradients, step, wider, samples, needed);
                }
            }
        }
        self.pool.give(scratch);
        gradients[0].take()
    }

    fn mask(&self, output: &[f32], gradient: &mut [f32]) {
        // SAFETY: both slices have the same length, a multiple of the channel step.
        unsafe {
            self.isa
                .launch(gradient.len(), MaskPositive { output, gradient })
        };
    }

    /// Adds a gradient to that of a skipped map, inside its frame.
    fn add_to(
        &self,
        gradients: &mut [Option<Buffer>],
        skip: Skip,
        branch: ValueId,
        gradient: &[f32],
        samples: usize,
        wants_input: bool,
    ) {
        if skip.value == 0 && !wants_input {
            return;
        }
        let length = self.len(skip.value, samples);
        let (mut to, accumulate) = match gradients[skip.value].take() {
            Some(buffer) => (buffer, true),
            None => (self.pool.take(length), false),
        };
        let kernel = AddToSkip {
            crop: self.crop(branch, skip.frame),
            samples,
            gradient,
            skip_gradient: &mut to[..length],
            accumulate,
        };
        // SAFETY: rows are sliced with checks.
        unsafe {
            self.isa
                .launch(self.program.values[branch].side.channels, kernel)
        };
        gradients[skip.value] = Some(to);
    }

    /// Passes a gradient on to the step's source, adding where another reader has left one.
    fn hand_on(
        &self,
        gradients: &mut [Option<Buffer>],
        step: &Step,
        gradient: Buffer,
        samples: usize,
        needed: bool,
    ) {
        if !needed {
            self.pool.give(gradient);
        } else if gradients[step.src].is_none() {
            gradients[step.src] = Some(gradient);
        } else {
            let skip = Skip {
                value: step.src,
                frame: 0,
            };
            let length = self.len(step.src, samples);
            self.add_to(
                gradients,
                skip,
                step.src,
                &gradient[..length],
                samples,
                true,
            );
            self.pool.give(gradient);
        }
    }
}
