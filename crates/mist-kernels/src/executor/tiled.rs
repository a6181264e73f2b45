//! A convolution on tiles: which products it is made of, and where its weights stand in them.

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
    /// As it is.
    Window,
    /// An up-convolution: one tap whose outputs are squares of pixels.
    Squares,
    /// One tap between whole maps: on tiny ones most taps of a window would meet zeros only.
    Whole,
}

/// Maps with at most this many pairs of a source and an output pixel are taken as a whole.
const WHOLE_PAIRS: usize = 16;

/// A place among the layer's weights.
pub(super) struct WeightPlace {
    pub slab: usize,
    pub input: usize,
    pub output: usize,
}

/// The products of a layer and of its gradients.
pub(super) struct TiledLayer {
    unit: TileUnit,
    form: Form,
    src: Value,
    dst: Value,
    kernel: usize,
    frame: usize,
    /// With residues: a rectifier should open as it does in f32.
    forward: Plane,
    /// Without: gradients may be rounded, they open nothing.
    backward: Plane,
}

impl TiledLayer {
    pub fn new(unit: TileUnit, values: [Value; 2], kernel: usize, frame: usize) -> Self {
        let [from, to] = values.map(|value| value.side.height * value.side.width);
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
        let (from, to) = (src.side, dst.side);
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

    /// The weight that stands at a place of the forward products, if there is one.
    fn weight_at(&self, tap: usize, input: usize, output: usize) -> Option<WeightPlace> {
        let (inputs, outputs) = (self.src.side.channels, self.dst.side.channels);
        let place = WeightPlace {
            slab: match self.form {
                Form::Window => tap,
                Form::Squares => output / outputs,
                Form::Whole => self.tap_between(input / inputs, output / outputs)?,
            },
            input: input % inputs,
            output: output % outputs,
        };
        let real = place.input < self.src.channels && place.output < self.dst.channels;
        real.then_some(place)
    }

    /// The tap through which an output pixel sees a source pixel.
    fn tap_between(&self, source: usize, output: usize) -> Option<usize> {
        let along = |source: usize, output: usize| {
            let distance = (source + self.frame).checked_sub(output)?;
            (distance < self.kernel).then_some(distance)
        };
        let (from, to) = (self.src.side.width, self.dst.side.width);
        let row = along(source / from, output / to)?;
        let column = along(source % from, output % to)?;
        Some(row * self.kernel + column)
    }

    pub fn pack_forward(&self, packed: &mut [f32], weight: impl Fn(WeightPlace) -> f32) {
        let packed = &mut packed[..self.forward.weights_len()];
        pack(self.forward, packed, |tap, input, output| {
            self.weight_at(tap, input, output).map_or(0.0, &weight)
        });
    }

    /// Transposed, with the taps in reverse.
    pub fn pack_backward(&self, packed: &mut [f32], weight: impl Fn(WeightPlace) -> f32) {
        let last = self.forward.kernel * self.forward.kernel - 1;
        pack(self.backward, packed, |tap, output, input| {
            self.weight_at(last - tap, input, output)
                .map_or(0.0, &weight)
        });
    }

    /// Hands out every gradient that was gathered; a weight at several places is handed out as often.
    pub fn unpack(&self, packed: &[f32], mut add: impl FnMut(WeightPlace, f32)) {
        let plane = self.forward;
        for tap in 0..plane.kernel * plane.kernel {
            for input in 0..plane.src.channels() {
                for output in 0..plane.dst.channels() {
                    if let Some(place) = self.weight_at(tap, input, output) {
                        add(place, packed[gradient_at(plane, tap, input, output)]);
                    }
                }
            }
        }
    }

    /// Runs the products of one way over a block of samples.
    pub fn convolve(&self, isa: Isa, way: Way<'_>, pass: Pass<'_>, weights: &[f32]) {
        let (plane, bias, relu, accumulate) = match way {
            Way::Forward { bias, relu } => (self.forward, Some(bias), relu, false),
            Way::Back { accumulate } => (self.backward, None, false, accumulate),
        };
        let Pass {
            samples,
            from,
            on_load,
            to,
            scratch,
        } = pass;
        // SAFETY: planes only name pixels of these two maps, whose buffers hold `samples` of them.
        unsafe {
            launch_on!(
                self.unit,
                isa,
                self.src.side.channels | self.dst.side.channels,
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
                self.src.side.channels | self.dst.side.channels,
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
pub(super) enum Way<'a> {
    /// The layer's outputs.
    Forward { bias: &'a [f32], relu: bool },
    /// The gradient of its source.
    Back { accumulate: bool },
}
