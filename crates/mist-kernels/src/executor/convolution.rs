//! One convolution: its method, its weights in the order of the kernels, its gradients.

use std::ops::Range;

use super::program::Value;
use super::tiled::{Direction, TiledLayer};
use crate::kernels::depthwise::DepthwiseConvolution;
use crate::kernels::direct::DirectConvolution;
use crate::kernels::elementwise::ChannelSums;
use crate::kernels::on_load::OnLoad;
use crate::kernels::outer::WeightGradient;
use crate::kernels::run::{MapSize, RunPlan};
use crate::kernels::winograd::{
    PLACES, Tiling, WinogradConvolution, WinogradWeightGradient, transform_weight_gradient,
    transform_weights,
};
use crate::network::{Activation, Padding};
use crate::simd::Isa;
use crate::tiles::TileUnit;

/// How the convolution is computed.
enum Method {
    /// Forward and gradient plan.
    Direct { forward: RunPlan, backward: RunPlan },
    /// Forward and gradient tiling.
    Winograd { forward: Tiling, backward: Tiling },
    /// Forward only.
    Strided(RunPlan),
    /// Each channel with a kernel of its own; forward only.
    Depthwise(RunPlan),
    /// In bf16.
    Tiled(TiledLayer),
}

/// A convolution or up-convolution between two maps.
pub(super) struct ConvolutionLayer {
    src: Value,
    dst: Value,
    method: Method,
    /// Slabs of the kernel: 1, 4 or 9.
    slabs: usize,
    /// Whether weights are stored `[in, out, ...]`, as for up-convolutions.
    input_first: bool,
    weight_offset: usize,
    bias_offset: usize,
    scratch_len: usize,
}

impl Method {
    fn scratch_len(&self) -> usize {
        match self {
            Self::Direct { .. } | Self::Strided(_) | Self::Depthwise(_) => 0,
            Self::Winograd { forward, backward } => {
                forward.scratch_len().max(backward.scratch_len())
            }
            Self::Tiled(layer) => layer.scratch_len(),
        }
    }
}

/// Smallest side of an output for which Winograd pays off.
const WINOGRAD_MIN_SIDE: usize = 4;

impl ConvolutionLayer {
    /// A 1x1 or 3x3 kernel; `offsets` of weight and bias in the flat parameters; f32 without tiles.
    pub fn new(
        [src, dst]: [Value; 2],
        kernel: usize,
        padding: Padding,
        offsets: [usize; 2],
        tiles: Option<TileUnit>,
    ) -> Self {
        let frame = match (kernel, padding) {
            (3, Padding::Same) => 1,
            _ => 0,
        };
        let back_frame = kernel - 1 - frame;
        let smallest = dst.size.height.min(dst.size.width);
        let method = if let Some(unit) = tiles {
            Method::Tiled(TiledLayer::new(unit, [src, dst], kernel, frame))
        } else if kernel == 3 && smallest >= WINOGRAD_MIN_SIDE {
            let tiling = |src, dst, frame| Tiling { src, dst, frame };
            Method::Winograd {
                forward: tiling(src.size, dst.size, frame),
                backward: tiling(dst.size, src.size, back_frame),
            }
        } else {
            Method::Direct {
                forward: RunPlan::convolution(src.size, dst.size, kernel, frame, false),
                backward: RunPlan::convolution(dst.size, src.size, kernel, back_frame, true),
            }
        };
        Self {
            src,
            dst,
            scratch_len: method.scratch_len(),
            method,
            slabs: kernel * kernel,
            input_first: false,
            weight_offset: offsets[0],
            bias_offset: offsets[1],
        }
    }

    /// An odd square kernel with a stride, forward only; in f32 always.
    pub fn strided(
        [src, dst]: [Value; 2],
        kernel: usize,
        stride: usize,
        offsets: [usize; 2],
    ) -> Self {
        let plan = RunPlan::strided(src.size, dst.size, kernel, stride);
        Self::forward_only([src, dst], kernel, Method::Strided(plan), offsets)
    }

    /// A depthwise 3x3 kernel with a stride, forward only; in f32 always.
    pub fn depthwise([src, dst]: [Value; 2], stride: usize, offsets: [usize; 2]) -> Self {
        let plan = RunPlan::strided(src.size, dst.size, 3, stride);
        Self::forward_only([src, dst], 3, Method::Depthwise(plan), offsets)
    }

    fn forward_only(
        [src, dst]: [Value; 2],
        kernel: usize,
        method: Method,
        offsets: [usize; 2],
    ) -> Self {
        Self {
            src,
            dst,
            scratch_len: method.scratch_len(),
            method,
            slabs: kernel * kernel,
            input_first: false,
            weight_offset: offsets[0],
            bias_offset: offsets[1],
        }
    }

    /// A 2x2 up-convolution.
    pub fn up([src, dst]: [Value; 2], offsets: [usize; 2], tiles: Option<TileUnit>) -> Self {
        let method = match tiles {
            Some(unit) => Method::Tiled(TiledLayer::up(unit, [src, dst])),
            None => Method::Direct {
                forward: RunPlan::up_convolution(src.size, dst.size),
                backward: RunPlan::up_convolution_gradient(dst.size, src.size),
            },
        };
        Self {
            src,
            dst,
            scratch_len: method.scratch_len(),
            method,
            slabs: 4,
            input_first: true,
            weight_offset: offsets[0],
            bias_offset: offsets[1],
        }
    }

    /// Whether it can apply a norm while it reads its source.
    pub fn normalises_on_load(&self) -> bool {
        matches!(self.method, Method::Winograd { .. } | Method::Tiled(_))
    }

    /// Values of the packed forward weights, bias included.
    pub fn forward_len(&self) -> usize {
        self.weights_len() + self.dst.size.channels
    }

    fn weights_len(&self) -> usize {
        let slab_len = self.src.channels * self.dst.size.channels;
        match &self.method {
            Method::Direct { .. } | Method::Strided(_) => self.slabs * slab_len,
            Method::Depthwise(_) => self.slabs * self.dst.size.channels,
            Method::Winograd { .. } => PLACES * slab_len,
            Method::Tiled(layer) => layer.weights_len(),
        }
    }

    /// Values of the packed weights for gradients of the input.
    pub fn backward_len(&self) -> usize {
        let slab_len = self.dst.channels * self.src.size.channels;
        match &self.method {
            Method::Direct { .. } => self.slabs * slab_len,
            Method::Strided(_) | Method::Depthwise(_) => 0,
            Method::Winograd { .. } => PLACES * slab_len,
            Method::Tiled(layer) => layer.backward_len(),
        }
    }

    /// Values of scratch that a pass needs.
    pub fn scratch_len(&self) -> usize {
        self.scratch_len
    }

    /// Distance in the flat parameters between the weights of two neighbouring inputs, and of two outputs.
    fn strides(&self) -> [usize; 2] {
        if self.input_first {
            [self.dst.channels * self.slabs, self.slabs]
        } else {
            [self.slabs, self.src.channels * self.slabs]
        }
    }

    /// Writes weights and bias in the order of the kernels.
    pub fn pack_forward(&self, parameters: &[f32], packed: &mut [f32]) {
        let (weights, bias) = packed.split_at_mut(self.weights_len());
        bias[..self.dst.channels]
            .copy_from_slice(&parameters[self.bias_offset..][..self.dst.channels]);
        if let Method::Tiled(layer) = &self.method {
            layer.pack_forward(&parameters[self.weight_offset..], weights);
            return;
        }
        if let Method::Depthwise(_) = self.method {
            let taps = parameters[self.weight_offset..].chunks_exact(self.slabs);
            for (channel, taps) in taps.take(self.dst.channels).enumerate() {
                for (slab, &value) in taps.iter().enumerate() {
                    weights[slab * self.dst.size.channels + channel] = value;
                }
            }
            return;
        }
        let [input_step, output_step] = self.strides();
        let sizes = [self.src.channels, self.dst.size.channels];
        self.pack(weights, sizes, false, |slab, input, line| {
            let first = &parameters[self.weight_offset + input * input_step + slab..];
            for (output, value) in line[..self.dst.channels].iter_mut().enumerate() {
                *value = first[output * output_step];
            }
        });
    }

    /// Writes the transposed weights that gradients of the input need.
    pub fn pack_backward(&self, parameters: &[f32], packed: &mut [f32]) {
        if let Method::Tiled(layer) = &self.method {
            layer.pack_backward(&parameters[self.weight_offset..], packed);
            return;
        }
        if packed.is_empty() {
            return;
        }
        let [input_step, output_step] = self.strides();
        let sizes = [self.dst.channels, self.src.size.channels];
        self.pack(packed, sizes, true, |slab, output, line| {
            let first = &parameters[self.weight_offset + output * output_step + slab..];
            for (input, value) in line[..self.src.channels].iter_mut().enumerate() {
                *value = first[input * input_step];
            }
        });
    }

    /// Fills `[slab][row][column]` weights, transformed where the method wants it.
    fn pack(
        &self,
        packed: &mut [f32],
        [rows, columns]: [usize; 2],
        flipped: bool,
        fill_row: impl Fn(usize, usize, &mut [f32]),
    ) {
        let fill = |slabs: &mut [f32]| {
            for (slab, rest) in slabs.chunks_exact_mut(rows * columns).enumerate() {
                for (row, line) in rest.chunks_exact_mut(columns).enumerate() {
                    fill_row(slab, row, line);
                }
            }
        };
        if let Method::Winograd { .. } = self.method {
            let mut slabs = vec![0.0; self.slabs * rows * columns];
            fill(&mut slabs);
            transform_weights(&slabs, packed, flipped);
        } else {
            fill(packed);
        }
    }

    /// Where weights and bias lie in the flat parameters: next to each other.
    pub fn parameters(&self) -> Range<usize> {
        self.weight_offset..self.bias_offset + self.dst.channels
    }

    /// The gradients gathered in kernel order, as [`ConvolutionLayer::parameters`] lie.
    pub fn unpack_gradient(&self, packed: &[f32]) -> Vec<f32> {
        let (weights, bias) = packed.split_at(self.weights_len());
        let mut gradients = vec![0.0; self.bias_offset - self.weight_offset];
        match &self.method {
            Method::Direct { .. } => self.unpack_slabs(weights, &mut gradients),
            Method::Strided(_) | Method::Depthwise(_) => {}
            Method::Winograd { .. } => {
                let mut slabs = vec![0.0; weights.len() / PLACES * self.slabs];
                transform_weight_gradient(weights, &mut slabs);
                self.unpack_slabs(&slabs, &mut gradients);
            }
            Method::Tiled(layer) => layer.unpack(weights, &mut gradients),
        }
        gradients.extend_from_slice(&bias[..self.dst.channels]);
        gradients
    }

    fn unpack_slabs(&self, slabs: &[f32], gradients: &mut [f32]) {
        let columns = self.dst.size.channels;
        let [input_step, output_step] = self.strides();
        for (slab, rest) in slabs.chunks_exact(self.src.channels * columns).enumerate() {
            for (input, line) in rest.chunks_exact(columns).enumerate() {
                let first = &mut gradients[input * input_step + slab..];
                for (output, value) in line[..self.dst.channels].iter().enumerate() {
                    first[output * output_step] = *value;
                }
            }
        }
    }

    /// Runs the convolution over a block of samples.
    pub fn forward(&self, isa: Isa, pass: Pass<'_>, packed: &[f32], activation: Activation) {
        let (weights, bias) = packed[..self.forward_len()].split_at(self.weights_len());
        let pass = pass.between(self.src.size, self.dst.size, self.scratch_len());
        let channels = self.dst.size.channels;
        let relu = activation == Activation::Relu;
        match &self.method {
            Method::Direct { forward, .. } | Method::Strided(forward) => {
                let kernel = DirectConvolution {
                    plan: forward,
                    samples: pass.samples,
                    src: pass.from,
                    src_sample: self.src.size.len(),
                    dst: pass.to,
                    dst_sample: self.dst.size.len(),
                    weights,
                    in_channels: self.src.channels,
                    out_channels: channels,
                    bias: Some(bias),
                    activation,
                    accumulate: false,
                };
                // SAFETY: the executor has checked the instruction set. Maps, weights and bias were sliced to the lengths
                // that the plan, made for these sizes, requires.
                unsafe { isa.launch(channels, kernel) };
            }
            Method::Depthwise(plan) => {
                let kernel = DepthwiseConvolution {
                    plan,
                    samples: pass.samples,
                    src: pass.from,
                    src_sample: self.src.size.len(),
                    dst: pass.to,
                    dst_sample: self.dst.size.len(),
                    weights,
                    channels,
                    bias,
                    activation,
                };
                // SAFETY: as for `Direct`; both maps have these channels.
                unsafe { isa.launch(channels, kernel) };
            }
            Method::Winograd { forward, .. } => {
                let kernel = WinogradConvolution {
                    tiling: *forward,
                    samples: pass.samples,
                    src: pass.from,
                    on_load: pass.on_load,
                    dst: pass.to,
                    weights,
                    in_channels: self.src.channels,
                    bias: Some(bias),
                    relu,
                    accumulate: false,
                    scratch: pass.scratch,
                };
                // SAFETY: as for `Direct`, with a tiling of these sizes and its scratch.
                unsafe { isa.launch(channels | self.src.size.channels, kernel) };
            }
            Method::Tiled(layer) => {
                layer.convolve(isa, Direction::Forward { bias, relu }, pass, weights);
            }
        }
    }

    /// Gradient of the input from that of the output; adds to what is there if `accumulate`.
    pub fn backward(&self, isa: Isa, pass: Pass<'_>, packed: &[f32], accumulate: bool) {
        let weights = &packed[..self.backward_len()];
        let pass = pass.between(self.dst.size, self.src.size, self.scratch_len());
        let channels = self.src.size.channels;
        match &self.method {
            Method::Direct { backward, .. } => {
                let kernel = DirectConvolution {
                    plan: backward,
                    samples: pass.samples,
                    src: pass.from,
                    src_sample: self.dst.size.len(),
                    dst: pass.to,
                    dst_sample: self.src.size.len(),
                    weights,
                    in_channels: self.dst.channels,
                    out_channels: channels,
                    bias: None,
                    activation: Activation::None,
                    accumulate,
                };
                // SAFETY: as in `forward`, with the sizes exchanged.
                unsafe { isa.launch(channels, kernel) };
            }
            Method::Strided(_) | Method::Depthwise(_) => {}
            Method::Winograd { backward, .. } => {
                let kernel = WinogradConvolution {
                    tiling: *backward,
                    samples: pass.samples,
                    src: pass.from,
                    on_load: None,
                    dst: pass.to,
                    weights,
                    in_channels: self.dst.channels,
                    bias: None,
                    relu: false,
                    accumulate,
                    scratch: pass.scratch,
                };
                // SAFETY: as in `forward`, with the sizes exchanged.
                unsafe { isa.launch(channels | self.dst.size.channels, kernel) };
            }
            Method::Tiled(layer) => {
                layer.convolve(isa, Direction::Backward { accumulate }, pass, weights);
            }
        }
    }

    /// Adds the gradients of weights and bias, in kernel order.
    pub fn weight_gradient(
        &self,
        isa: Isa,
        samples: usize,
        (src, on_load): (&[f32], Option<OnLoad<'_>>),
        gradient: &[f32],
        packed: &mut [f32],
        scratch: &mut [f32],
    ) {
        let (weights, bias) = packed[..self.forward_len()].split_at_mut(self.weights_len());
        let channels = self.dst.size.channels;
        let src = &src[..samples * self.src.size.len()];
        let gradient = &gradient[..samples * self.dst.size.len()];
        let scratch = &mut scratch[..self.scratch_len()];
        match &self.method {
            Method::Direct { forward, .. } => {
                let kernel = WeightGradient {
                    plan: forward,
                    samples,
                    src,
                    src_sample: self.src.size.len(),
                    gradient,
                    gradient_sample: self.dst.size.len(),
                    weights,
                    in_channels: self.src.channels,
                    out_channels: channels,
                };
                // SAFETY: as in `forward`; the gradient has the size of the output.
                unsafe { isa.launch(channels, kernel) };
            }
            Method::Strided(_) | Method::Depthwise(_) => {}
            Method::Winograd { forward, .. } => {
                let kernel = WinogradWeightGradient {
                    tiling: *forward,
                    samples,
                    src,
                    on_load,
                    gradient,
                    weights,
                    in_channels: self.src.channels,
                    scratch,
                };
                // SAFETY: as in `forward`; the gradient has the size of the output.
                unsafe { isa.launch(channels | self.src.size.channels, kernel) };
            }
            Method::Tiled(layer) => {
                let source = (src, on_load);
                layer.weight_gradient(isa, samples, source, gradient, weights, scratch);
            }
        }
        let kernel = ChannelSums {
            pixels: gradient,
            channels,
            sums: bias,
        };
        // SAFETY: the executor has checked the instruction set. The kernel slices pixels and sums with checks.
        unsafe { isa.launch(channels, kernel) };
    }
}

/// The maps of one pass over a block of samples.
pub(super) struct Pass<'a> {
    pub samples: usize,
    pub from: &'a [f32],
    /// What is done to the source while it is read.
    pub on_load: Option<OnLoad<'a>>,
    pub to: &'a mut [f32],
    pub scratch: &'a mut [f32],
}

impl Pass<'_> {
    /// The same between maps of two sizes, each slice as long as it should be.
    fn between(self, from: MapSize, to: MapSize, scratch_len: usize) -> Self {
        Self {
            from: &self.from[..self.samples * from.len()],
            to: &mut self.to[..self.samples * to.len()],
            scratch: &mut self.scratch[..scratch_len],
            ..self
        }
    }
}
