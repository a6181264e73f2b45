//! A convolution on tiles: its matrix products and the layout of its weights in them.

use super::convolution::Pass;
use super::program::Value;
use crate::kernels::on_load::OnLoad;
use crate::kernels::tiled::{
    Pixels, Plane, TileConvolution, TileWeightGradient, gradient_at, pack,
};
use crate::simd::Isa;
use crate::tiles::{TileUnit, launch_on};

/// How the layer is seen as a convolution of stride 1.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// A kernel of taps.
    Window,
    /// An up-convolution: one tap whose outputs are squares of pixels.
    Squares,
    /// One tap between whole maps: on tiny ones most taps of a window would meet zeros only.
    Whole,
}

/// Maps with at most this many pairs of a source and an output pixel are taken as a whole.
const WHOLE_PAIRS: usize = 16;

/// Weights that belong to neighbouring channels of a map.
struct Run {
    /// Where the channels begin in a pixel of the products.
    first: usize,
    /// The first channel's weight among the layer's.
    weight: usize,
}

/// The products of a layer and of its gradients.
pub(super) struct TiledLayer {
    unit: TileUnit,
    form: Form,
    src: Value,
    dst: Value,
    kernel: usize,
    frame: usize,
    /// With residues, so that a ReLU passes what it passes in f32.
    forward: Plane,
    /// Without residues: gradients are only rounded.
    backward: Plane,
}

impl TiledLayer {
    pub fn new(unit: TileUnit, values: [Value; 2], kernel: usize, frame: usize) -> Self {
        let [from, to] = values.map(|value| value.size.height * value.size.width);
        let form = match kernel > 1 && from * to <= WHOLE_PAIRS {
            true => Form::Whole,
            false => Form::Window,
        };
        Self::of_form(unit, form, values, kernel, frame)
    }

    /// A 2x2 up-convolution.
    pub fn up(unit: TileUnit, values: [Value; 2]) -> Self {
        Self::of_form(unit, Form::Squares, values, 2, 0)
    }

    fn of_form(
        unit: TileUnit,
        form: Form,
        [src, dst]: [Value; 2],
        kernel: usize,
        frame: usize,
    ) -> Self {
        let plane = |src, dst, kernel, frame| Plane {
            src,
            dst,
            kernel,
            frame,
            residues: true,
        };
        let (from, to) = (src.size, dst.size);
        let forward = match form {
            Form::Window => plane(Pixels::single(from), Pixels::single(to), kernel, frame),
            Form::Squares => plane(Pixels::single(from), Pixels::squares(to), 1, 0),
            Form::Whole => plane(Pixels::whole(from), Pixels::whole(to), 1, 0),
        };
        Self {
            unit,
            form,
            src,
            dst,
            kernel,
            frame,
            forward,
            backward: forward.reversed(),
        }
    }

    /// Values of the packed weights or of their gradients: they share a layout.
    pub fn weights_len(&self) -> usize {
        self.forward.weights_len().max(self.forward.gradient_len())
    }

    pub fn backward_len(&self) -> usize {
        self.backward.weights_len()
    }

    pub fn scratch_len(&self) -> usize {
        self.forward
            .scratch_len()
            .max(self.backward.scratch_len())
            .max(self.forward.gradient_scratch_len())
    }

    /// Distances in the flat weights between neighbouring inputs and between neighbouring outputs.
    fn steps(&self) -> [usize; 2] {
        let slabs = self.kernel * self.kernel;
        match self.form {
            Form::Squares => [self.dst.channels * slabs, slabs],
            Form::Window | Form::Whole => [slabs, self.src.channels * slabs],
        }
    }

    /// The weights that join an input of the products with outputs, as runs over the layer's outputs.
    fn runs_over_outputs(&self, tap: usize, input: usize) -> Vec<Run> {
        let (pixel, input) = (
            input / self.src.size.channels,
            input % self.src.size.channels,
        );
        if input >= self.src.channels {
            return Vec::new();
        }
        let runs = (0..self.output_pixels()).filter_map(|output| {
            Some(Run {
                first: output * self.dst.size.channels,
                weight: self.slab(tap, pixel, output)? + input * self.steps()[0],
            })
        });
        runs.collect()
    }

    /// The weights that join an output of the products with inputs, as runs over the layer's inputs.
    fn runs_over_inputs(&self, tap: usize, output: usize) -> Vec<Run> {
        let (pixel, output) = (
            output / self.dst.size.channels,
            output % self.dst.size.channels,
        );
        if output >= self.dst.channels {
            return Vec::new();
        }
        let runs = (0..self.input_pixels()).filter_map(|input| {
            Some(Run {
                first: input * self.src.size.channels,
                weight: self.slab(tap, input, pixel)? + output * self.steps()[1],
            })
        });
        runs.collect()
    }

    /// Pixels of the map in a pixel of the source, and in one of the outputs.
    fn input_pixels(&self) -> usize {
        self.forward.src.channels() / self.src.size.channels
    }

    fn output_pixels(&self) -> usize {
        self.forward.dst.channels() / self.dst.size.channels
    }

    /// The slab of the kernel that joins two pixels within pixels of the products.
    fn slab(&self, tap: usize, input: usize, output: usize) -> Option<usize> {
        match self.form {
            Form::Window => Some(tap),
            Form::Squares => Some(output),
            Form::Whole => self.tap_between(input, output),
        }
    }

    /// The tap through which an output pixel sees a source pixel.
    fn tap_between(&self, source: usize, output: usize) -> Option<usize> {
        let along = |source: usize, output: usize| {
            let distance = (source + self.frame).checked_sub(output)?;
            (distance < self.kernel).then_some(distance)
        };
        let (from, to) = (self.src.size.width, self.dst.size.width);
        let row = along(source / from, output / to)?;
        let column = along(source % from, output % to)?;
        Some(row * self.kernel + column)
    }

    /// Writes the layer's weights, which come first, in the order of the products.
    pub fn pack_forward(&self, weights: &[f32], packed: &mut [f32]) {
        let packed = &mut packed[..self.forward.weights_len()];
        let step = self.steps()[1];
        pack(self.forward, packed, |tap, input, line| {
            for Run { first, weight } in self.runs_over_outputs(tap, input) {
                let values = weights[weight..].iter().step_by(step);
                for (slot, value) in line[first..][..self.dst.channels].iter_mut().zip(values) {
                    *slot = *value;
                }
            }
        });
    }

    /// The same transposed, with the taps in reverse.
    pub fn pack_backward(&self, weights: &[f32], packed: &mut [f32]) {
        let last = self.forward.kernel * self.forward.kernel - 1;
        let step = self.steps()[0];
        pack(self.backward, packed, |tap, output, line| {
            for Run { first, weight } in self.runs_over_inputs(last - tap, output) {
                let values = weights[weight..].iter().step_by(step);
                for (slot, value) in line[first..][..self.src.channels].iter_mut().zip(values) {
                    *slot = *value;
                }
            }
        });
    }

    /// Adds the packed gradients to those of the weights; a weight may occur at several places.
    pub fn unpack(&self, packed: &[f32], gradients: &mut [f32]) {
        let (plane, step) = (self.forward, self.steps()[1]);
        for tap in 0..plane.kernel * plane.kernel {
            for input in 0..plane.src.channels() {
                for Run { first, weight } in self.runs_over_outputs(tap, input) {
                    let sums = gradients[weight..].iter_mut().step_by(step);
                    for (output, sum) in sums.take(self.dst.channels).enumerate() {
                        *sum += packed[gradient_at(plane, tap, input, first + output)];
                    }
                }
            }
        }
    }

    /// Runs the products of one direction over a block of samples.
    pub fn convolve(&self, isa: Isa, direction: Direction<'_>, pass: Pass<'_>, weights: &[f32]) {
        let (plane, bias, relu, accumulate) = match direction {
            Direction::Forward { bias, relu } => (self.forward, Some(bias), relu, false),
            Direction::Backward { accumulate } => (self.backward, None, false, accumulate),
        };
        let Pass {
            samples,
            from,
            on_load,
            to,
            scratch,
        } = pass;
        // SAFETY: the executor has checked the instruction set and the tile unit, or the caller of its unchecked constructor
        // has. The layer has sliced maps, weights and scratch to the lengths that the plane, made for them, requires.
        unsafe {
            launch_on!(
                self.unit,
                isa,
                self.src.size.channels | self.dst.size.channels,
                TileConvolution {
                    plane,
                    samples,
                    src: from,
                    on_load,
                    dst: to,
                    weights,
                    bias,
                    relu,
                    accumulate,
                    scratch,
                }
            );
        }
    }

    /// Adds the gradient of the weights.
    pub fn weight_gradient(
        &self,
        isa: Isa,
        samples: usize,
        (src, on_load): (&[f32], Option<OnLoad<'_>>),
        gradient: &[f32],
        weights: &mut [f32],
        scratch: &mut [f32],
    ) {
        // SAFETY: as in `convolve`.
        unsafe {
            launch_on!(
                self.unit,
                isa,
                self.src.size.channels | self.dst.size.channels,
                TileWeightGradient {
                    plane: self.forward,
                    samples,
                    src,
                    on_load,
                    gradient,
                    weights,
                    scratch,
                }
            );
        }
    }
}

/// Which products.
pub(super) enum Direction<'a> {
    /// The layer's outputs.
    Forward { bias: &'a [f32], relu: bool },
    /// The gradient of its source.
    Backward { accumulate: bool },
}
