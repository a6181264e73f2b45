//! The backward pass of one block of samples.

use super::block::{Block, Context};
use super::convolution::Pass;
use super::program::{Action, Skip, Step, ValueId};
use crate::buffer::Buffer;
use crate::kernels::elementwise::{AddToSkip, MaskPositive};
use crate::kernels::norm::{NormGradient, Relu};
use crate::kernels::padded;
use crate::kernels::pool::MaxPoolGradient;
use crate::network::Activation;

impl Context<'_> {
    /// Propagates the gradient of the output through all steps. Adds the gradients of parameters to `packed`, if given,
    /// and returns that of the first map, if wanted.
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
                Action::Convolve { layer, activation } => {
                    let convolution = &self.program.convolutions[layer];
                    if activation == Activation::Relu {
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
                        relu: match relu {
                            false => Relu::Absent,
                            true if self.program.deferred[step.dst] => Relu::Recomputed,
                            true => Relu::Output(map(step.dst)),
                        },
                        skip_gradient: skip_gradient
                            .as_mut()
                            .map(|(_, buffer, length)| &mut buffer[..*length]),
                        scale_gradient,
                        shift_gradient,
                    };
                    // SAFETY: the executor has checked the instruction set. The kernel slices samples, norms and sums
                    // with checks; their channels are `out.size.channels`.
                    unsafe { self.isa.launch(out.size.channels, kernel) };
                    if let Some((value, buffer, _)) = skip_gradient {
                        gradients[value] = Some(buffer);
                    }
                    self.add_to_source(&mut gradients, step, gradient, samples, needed);
                }
                // Programs of layers that only run forward keep no tape.
                Action::MaxPool3 => self.pool.give(gradient),
                Action::Add { skip, relu } => {
                    if relu {
                        self.mask(map(step.dst), &mut gradient[..len]);
                    }
                    self.add_to(
                        &mut gradients,
                        skip,
                        step.dst,
                        &gradient[..len],
                        samples,
                        wants_input,
                    );
                    self.add_to_source(&mut gradients, step, gradient, samples, needed);
                }
                Action::Relu => {
                    self.mask(map(step.dst), &mut gradient[..len]);
                    self.add_to_source(&mut gradients, step, gradient, samples, needed);
                }
                Action::Sigmoid => {
                    super::pixelwise::sigmoid_gradient(map(step.dst), &mut gradient[..len]);
                    self.add_to_source(&mut gradients, step, gradient, samples, needed);
                }
                Action::Softplus => {
                    super::pixelwise::softplus_gradient(map(step.dst), &mut gradient[..len]);
                    self.add_to_source(&mut gradients, step, gradient, samples, needed);
                }
                Action::Softmax => {
                    super::pixelwise::softmax_gradient(map(step.dst), &mut gradient[..len], out);
                    self.add_to_source(&mut gradients, step, gradient, samples, needed);
                }
                Action::MaxPool | Action::Mean | Action::ReflectPad { .. } => {
                    let length = self.len(step.src, samples);
                    let mut wider = self.pool.take(length);
                    let to = &mut wider[..length];
                    let gradient_map = &gradient[..len];
                    match step.action {
                        Action::MaxPool => MaxPoolGradient {
                            src_size: from.size,
                            dst_size: out.size,
                            samples,
                            src: map(step.src),
                            gradient: gradient_map,
                            src_gradient: to,
                        }
                        .apply(),
                        Action::ReflectPad { px } => {
                            super::pixelwise::reflect_pad_gradient(gradient_map, to, from.size, px);
                        }
                        _ => super::pixelwise::mean_gradient(gradient_map, to, out.size.channels),
                    }
                    self.pool.give(gradient);
                    self.add_to_source(&mut gradients, step, wider, samples, needed);
                }
            }
        }
        self.pool.give(scratch);
        gradients[0].take()
    }

    fn mask(&self, output: &[f32], gradient: &mut [f32]) {
        // SAFETY: the executor has checked the instruction set. Both slices are whole maps of one size, so that their
        // lengths are equal and a multiple of 8, and of 16 lanes only if these divide the gradient's.
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
        // SAFETY: the executor has checked the instruction set. The kernel slices rows with checks; their channels are those
        // of the branch.
        unsafe {
            self.isa
                .launch(self.program.values[branch].size.channels, kernel)
        };
        gradients[skip.value] = Some(to);
    }

    /// Makes a gradient that of the step's source, or adds it if another reader of the source has left one.
    fn add_to_source(
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
