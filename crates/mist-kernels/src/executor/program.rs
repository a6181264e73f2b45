//! A network compiled to steps over maps, for one input size.

use super::convolution::ConvolutionLayer;
use crate::kernels::padded;
use crate::kernels::run::MapSize;
use crate::network::{
    Activation, BasicBlock, InvertedResidual, Layer, Network, NetworkError, NormPlacement, Padding,
    ResidualBlock, Shape, StridedConv,
};
use crate::tiles::TileUnit;

/// Index of a map.
pub(super) type ValueId = usize;

/// A map's size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub size: MapSize,
    /// Channels without padding.
    pub channels: usize,
}

/// A norm's place in the flat parameter vector.
#[derive(Clone, Copy, Debug)]
pub(super) struct NormLayer {
    pub scale_offset: usize,
    pub channels: usize,
}

/// The skipped input of a residual sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Skip {
    pub value: ValueId,
    /// Pixels cut off at each side.
    pub frame: usize,
}

/// What happens to one map.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// Index into [`Program::convolutions`].
    Convolve {
        layer: usize,
        activation: Activation,
    },
    /// Index into [`Program::norms`], and the norm's own index among all norm steps.
    Normalise {
        layer: usize,
        moments: usize,
        skip: Option<Skip>,
        relu: bool,
    },
    Add {
        skip: Skip,
        relu: bool,
    },
    Relu,
    MaxPool,
    MaxPool3,
    Mean,
    Sigmoid,
    Softplus,
    Softmax,
    ReflectPad {
        px: usize,
    },
}

/// `dst = action(src)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub src: ValueId,
    pub dst: ValueId,
    pub action: Action,
}

impl Step {
    /// The skipped map that the step adds.
    pub fn skip(&self) -> Option<ValueId> {
        match self.action {
            Action::Add { skip, .. }
            | Action::Normalise {
                skip: Some(skip), ..
            } => Some(skip.value),
            _ => None,
        }
    }
}

/// The steps after the stem; value 0 is the stem's output.
pub(super) struct Program {
    pub values: Vec<Value>,
    pub steps: Vec<Step>,
    pub convolutions: Vec<ConvolutionLayer>,
    pub norms: Vec<NormLayer>,
    /// Norm steps, each of which keeps moments per sample.
    pub norm_steps: usize,
    /// The last step that reads each value.
    pub last_use: Vec<usize>,
    /// Norms that are never written to memory: the convolution that reads them applies them on load.
    pub deferred: Vec<bool>,
}

impl Program {
    /// Compiles the layers from `first_layer` on, which read a map of the given shape; in f32 without tiles.
    pub fn compile(
        network: &Network,
        first_layer: usize,
        input: Shape,
        tiles: Option<TileUnit>,
    ) -> Result<Self, NetworkError> {
        let mut builder = Builder::new(input, tiles);
        let mut specs = network.parameters().into_iter().map(|spec| spec.offset);
        let stem_norms = network.layers()[..first_layer]
            .iter()
            .filter(|layer| **layer == Layer::BatchNorm)
            .count();
        for _ in 0..2 * stem_norms {
            specs.next();
        }
        let mut offset = || specs.next().unwrap_or_default();
        for layer in &network.layers()[first_layer..] {
            builder.layer(layer, &mut offset)?;
        }
        Ok(builder.finish())
    }

    /// The network's output.
    pub fn output(&self) -> ValueId {
        self.values.len() - 1
    }

    /// Values of the largest map of one sample.
    pub fn largest(&self) -> usize {
        self.values
            .iter()
            .map(|value| value.size.len())
            .max()
            .unwrap_or(0)
    }
}

struct Builder {
    program: Program,
    /// Maps of open branches.
    kept: Vec<ValueId>,
    tiles: Option<TileUnit>,
}

impl Builder {
    fn new(input: Shape, tiles: Option<TileUnit>) -> Self {
        let program = Program {
            values: vec![Value::new(input)],
            steps: Vec::new(),
            convolutions: Vec::new(),
            norms: Vec::new(),
            norm_steps: 0,
            last_use: Vec::new(),
            deferred: Vec::new(),
        };
        Self {
            program,
            kept: Vec::new(),
            tiles,
        }
    }

    fn current(&self) -> ValueId {
        self.program.values.len() - 1
    }

    fn push(&mut self, src: ValueId, shape: Shape, action: Action) -> ValueId {
        self.program.values.push(Value::new(shape));
        let dst = self.current();
        self.program.steps.push(Step { src, dst, action });
        dst
    }

    /// Applies a layer without skip to the newest value.
    fn layer(
        &mut self,
        layer: &Layer,
        offset: &mut impl FnMut() -> usize,
    ) -> Result<(), NetworkError> {
        let src = self.current();
        let shape = self.program.values[src].shape();
        let unreadable = || NetworkError::InputTooSmall {
            layer: self.program.steps.len(),
            description: layer.to_string(),
            input: shape,
        };
        let out = layer.output_shape(shape).ok_or_else(unreadable)?;
        match *layer {
            Layer::Conv1x1 { .. } | Layer::Dense { .. } => {
                self.convolve(src, out, 1, Padding::Valid, false, offset);
            }
            Layer::Conv3x3 { padding, .. } => {
                self.convolve(src, out, 3, padding, false, offset);
            }
            Layer::UpConv2 { .. } => {
                let values = [self.program.values[src], Value::new(out)];
                let layer = ConvolutionLayer::up(values, [offset(), offset()], self.tiles);
                self.push_convolution(src, out, layer, Activation::None);
            }
            Layer::Norm => {
                let norm = self.norm(shape.channels, offset);
                self.normalise(src, norm, None, false);
            }
            Layer::Residual(block) => self.residual(block, offset),
            Layer::Relu => drop(self.push(src, out, Action::Relu)),
            Layer::StridedConv(conv) => drop(self.strided(src, out, conv, offset)),
            Layer::BasicBlock(block) => self.basic_block(block, out, offset),
            Layer::InvertedResidual(block) => self.inverted_residual(block, out, offset),
            Layer::MaxPool3 => drop(self.push(src, out, Action::MaxPool3)),
            Layer::Branch => self.kept.push(src),
            Layer::Join => {
                let Some(value) = self.kept.pop() else {
                    return Err(NetworkError::Unpaired {
                        layer: self.program.steps.len(),
                    });
                };
                let skip = Skip { value, frame: 0 };
                self.push(src, out, Action::Add { skip, relu: true });
            }
            Layer::MaxPool2 => drop(self.push(src, out, Action::MaxPool)),
            Layer::GlobalAveragePool => drop(self.push(src, out, Action::Mean)),
            Layer::Sigmoid => drop(self.push(src, out, Action::Sigmoid)),
            Layer::Softplus => drop(self.push(src, out, Action::Softplus)),
            Layer::Softmax => drop(self.push(src, out, Action::Softmax)),
            Layer::ReflectPad { px } => drop(self.push(src, out, Action::ReflectPad { px })),
            Layer::BatchNorm => {
                return Err(NetworkError::BatchNormInside {
                    layer: self.program.steps.len(),
                });
            }
        }
        Ok(())
    }

    fn convolve(
        &mut self,
        src: ValueId,
        out: Shape,
        kernel: usize,
        padding: Padding,
        relu: bool,
        offset: &mut impl FnMut() -> usize,
    ) -> ValueId {
        let values = [self.program.values[src], Value::new(out)];
        let offsets = [offset(), offset()];
        let layer = ConvolutionLayer::new(values, kernel, padding, offsets, self.tiles);
        let activation = match relu {
            true => Activation::Relu,
            false => Activation::None,
        };
        self.push_convolution(src, out, layer, activation)
    }

    fn strided(
        &mut self,
        src: ValueId,
        out: Shape,
        conv: StridedConv,
        offset: &mut impl FnMut() -> usize,
    ) -> ValueId {
        let values = [self.program.values[src], Value::new(out)];
        let offsets = [offset(), offset()];
        let StridedConv {
            kernel_px, stride, ..
        } = conv;
        let layer = match (kernel_px, stride, conv.activation) {
            (1 | 3, 1, Activation::None | Activation::Relu) => {
                ConvolutionLayer::new(values, kernel_px, Padding::Same, offsets, self.tiles)
            }
            _ => ConvolutionLayer::strided(values, kernel_px, stride, offsets),
        };
        self.push_convolution(src, out, layer, conv.activation)
    }

    fn basic_block(&mut self, block: BasicBlock, out: Shape, offset: &mut impl FnMut() -> usize) {
        let input = self.current();
        let channels = self.program.values[input].channels;
        let conv = |kernel_px, stride, activation| StridedConv {
            out_channels: out.channels,
            kernel_px,
            stride,
            activation,
        };
        let first = conv(3, block.stride, Activation::Relu);
        let middle = self.strided(input, out, first, offset);
        let branch = self.strided(middle, out, conv(3, 1, Activation::None), offset);
        let value = match block.projects(channels) {
            false => input,
            true => self.strided(input, out, conv(1, block.stride, Activation::None), offset),
        };
        let skip = Skip { value, frame: 0 };
        self.push(branch, out, Action::Add { skip, relu: true });
    }

    fn inverted_residual(
        &mut self,
        block: InvertedResidual,
        out: Shape,
        offset: &mut impl FnMut() -> usize,
    ) {
        let input = self.current();
        let shape = self.program.values[input].shape();
        let hidden = shape.channels * block.expansion;
        let conv = |out_channels, activation| StridedConv {
            out_channels,
            kernel_px: 1,
            stride: 1,
            activation,
        };
        let mut middle = input;
        if block.expansion > 1 {
            let wide = Shape::new(hidden, shape.height_px, shape.width_px);
            middle = self.strided(input, wide, conv(hidden, Activation::Relu6), offset);
        }
        let wide = Shape::new(hidden, out.height_px, out.width_px);
        let values = [self.program.values[middle], Value::new(wide)];
        let layer = ConvolutionLayer::depthwise(values, block.stride, [offset(), offset()]);
        let middle = self.push_convolution(middle, wide, layer, Activation::Relu6);
        let branch = self.strided(middle, out, conv(out.channels, Activation::None), offset);
        if block.is_residual(shape.channels) {
            let skip = Skip {
                value: input,
                frame: 0,
            };
            self.push(branch, out, Action::Add { skip, relu: false });
        }
    }

    fn push_convolution(
        &mut self,
        src: ValueId,
        out: Shape,
        layer: ConvolutionLayer,
        activation: Activation,
    ) -> ValueId {
        self.program.convolutions.push(layer);
        let layer = self.program.convolutions.len() - 1;
        self.push(src, out, Action::Convolve { layer, activation })
    }

    fn norm(&mut self, channels: usize, offset: &mut impl FnMut() -> usize) -> usize {
        let scale_offset = offset();
        offset();
        self.program.norms.push(NormLayer {
            scale_offset,
            channels,
        });
        self.program.norms.len() - 1
    }

    fn normalise(&mut self, src: ValueId, layer: usize, skip: Option<Skip>, relu: bool) -> ValueId {
        let moments = self.program.norm_steps;
        self.program.norm_steps += 1;
        let shape = self.program.values[src].shape();
        let action = Action::Normalise {
            layer,
            moments,
            skip,
            relu,
        };
        self.push(src, shape, action)
    }

    fn residual(&mut self, block: ResidualBlock, offset: &mut impl FnMut() -> usize) {
        let input = self.current();
        let shape = self.program.values[input].shape();
        let lost = block.padding.shrinks_by_px();
        let shrunk =
            |by: usize| Shape::new(shape.channels, shape.height_px - by, shape.width_px - by);
        let offsets = [offset(), offset(), offset(), offset()];
        let norm1 = self.norm(shape.channels, offset);
        let norm2 = if block.shared_norm {
            norm1
        } else {
            self.norm(shape.channels, offset)
        };
        let skip = Skip {
            value: input,
            frame: lost,
        };
        let convolve = |builder: &mut Self, src, out, pair: [usize; 2], relu| {
            let mut pair = pair.into_iter();
            let mut next = || pair.next().unwrap_or_default();
            builder.convolve(src, out, 3, block.padding, relu, &mut next)
        };
        let [first, second] = [[offsets[0], offsets[1]], [offsets[2], offsets[3]]];
        match block.norm {
            NormPlacement::After => {
                let raw = convolve(self, input, shrunk(lost), first, false);
                let middle = self.normalise(raw, norm1, None, true);
                let raw = convolve(self, middle, shrunk(2 * lost), second, false);
                self.normalise(raw, norm2, Some(skip), true);
            }
            NormPlacement::Before => {
                let normed = self.normalise(input, norm1, None, false);
                let middle = convolve(self, normed, shrunk(lost), first, true);
                let normed = self.normalise(middle, norm2, None, false);
                let raw = convolve(self, normed, shrunk(2 * lost), second, false);
                self.push(raw, shrunk(2 * lost), Action::Add { skip, relu: true });
            }
        }
    }

    fn finish(mut self) -> Program {
        let mut last_use = vec![0; self.program.values.len()];
        for (index, step) in self.program.steps.iter().enumerate() {
            last_use[step.src] = index;
            if let Some(skip) = step.skip() {
                last_use[skip] = index;
            }
        }
        let mut deferred = vec![false; self.program.values.len()];
        for step in &self.program.steps {
            let plain = matches!(step.action, Action::Normalise { skip: None, .. });
            if let Some(reader) = self.only_reader(step.dst).filter(|_| plain) {
                deferred[step.dst] = true;
                last_use[step.src] = last_use[step.src].max(reader);
            }
        }
        self.program.last_use = last_use;
        self.program.deferred = deferred;
        self.program
    }

    /// The step that reads a value, if it is the only one and can apply a norm while reading.
    fn only_reader(&self, value: ValueId) -> Option<usize> {
        let steps = self.program.steps.iter().enumerate();
        let mut readers = steps.filter(|(_, step)| step.src == value || step.skip() == Some(value));
        let (index, reader) = readers.next()?;
        let Action::Convolve { layer, .. } = reader.action else {
            return None;
        };
        let able = self.program.convolutions[layer].normalises_on_load();
        (able && readers.next().is_none()).then_some(index)
    }
}

impl Value {
    pub fn new(shape: Shape) -> Self {
        Self {
            size: MapSize {
                height: shape.height_px,
                width: shape.width_px,
                channels: padded(shape.channels),
            },
            channels: shape.channels,
        }
    }

    pub fn shape(self) -> Shape {
        Shape::new(self.channels, self.size.height, self.size.width)
    }
}
