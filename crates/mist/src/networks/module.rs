//! A network description with weights, run on any burn device.

use burn::module::{Module, Param};
use burn::tensor::activation::{relu, sigmoid, softmax};
use burn::tensor::module::{conv_transpose2d, conv2d, max_pool2d};
use burn::tensor::ops::{ConvOptions, ConvTransposeOptions, MaxPoolOptions, PadMode};
use burn::tensor::{DType, Device, Gradients, Tensor, TensorData};
use mist_kernels::network::{
    Activation, BasicBlock, InvertedResidual, Layer, Network, NormPlacement, Padding,
    ResidualBlock, Shape, StridedConv,
};

use super::fused::{CallStatistics, Executors};
use super::initialise::initial_parameters;
use crate::Error;
use crate::ranks::Ranks;

/// Statistics for a batch norm on the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputStatistics {
    /// Those of the batch: in training, and in the released code at test time too.
    Batch,
    /// Running averages, see [`NetworkModule::observe_input`].
    Running,
}

/// A network with weights.
///
/// All trainable parameters are in one flat tensor, laid out by [`Network::parameters`], so that optimisers, averages and
/// checkpoints handle one tensor per network.
#[derive(Module, Debug)]
pub struct NetworkModule {
    /// The flat parameter vector, `[parameter_count]`.
    pub parameters: Param<Tensor<1>>,
    running_mean: Param<Tensor<1>>,
    running_variance: Param<Tensor<1>>,
    #[module(skip)]
    network: Network,
    #[module(skip)]
    executors: Executors,
    #[module(skip)]
    ranks: Option<Ranks>,
}

impl NetworkModule {
    /// Weight of the newest batch in the running statistics.
    const MOMENTUM: f64 = 0.1;

    /// A module with initial weights drawn from `seed`.
    ///
    /// # Errors
    /// As [`NetworkModule::from_parameters`].
    pub fn init(network: Network, seed: u64, device: &Device) -> Result<Self, Error> {
        let parameters = initial_parameters(&network, seed);
        Self::from_parameters(network, parameters, device)
    }

    /// A module with given weights.
    ///
    /// # Errors
    /// When the vector's length is not the network's parameter count.
    pub fn from_parameters(
        network: Network,
        parameters: Vec<f32>,
        device: &Device,
    ) -> Result<Self, Error> {
        let expected = network.parameter_count();
        if parameters.len() != expected {
            return Err(Error::ParameterCount {
                expected,
                actual: parameters.len(),
            });
        }
        let channels = network.in_channels();
        let data = TensorData::new(parameters, [expected]);
        let frozen = |tensor| Param::from_tensor(tensor).set_require_grad(false);
        Ok(Self {
            parameters: Param::from_tensor(Tensor::from_data(data, device)),
            running_mean: frozen(Tensor::zeros([channels], device)),
            running_variance: frozen(Tensor::ones([channels], device)),
            network,
            executors: Executors::default(),
            ranks: None,
        })
    }

    /// The network as one of several ranks trains it: statistics of a batch are those of all ranks' images, and of the gradient
    /// of the parameters there are as many, one after the other, as this rank has shards.
    ///
    /// # Errors
    /// When there are several ranks and the device is not the CPU.
    pub fn among(mut self, ranks: &Ranks) -> Result<Self, Error> {
        if ranks.size() > 1 && self.parameters.val().device().inner() != Device::flex() {
            return Err(Error::Device {
                name: "gpu",
                reason: "several ranks train on the CPU; add `--device cpu`",
            });
        }
        self.ranks = Some(ranks.clone());
        Ok(self)
    }

    /// The gradient of the parameters over all ranks' images, `[parameter_count]`.
    ///
    /// # Errors
    /// When no gradient reached the network, the device cannot be read, or a rank stops or is lost.
    pub fn gradient(&self, gradients: &Gradients) -> Result<Vec<f32>, Error> {
        let found = self.parameters.val().grad(gradients);
        let rows = found.ok_or(Error::NoGradient)?.try_into_vec_as::<f32>()?;
        match &self.ranks {
            Some(ranks) => ranks.sum(rows, self.network.parameter_count()),
            None => Ok(rows),
        }
    }

    /// The same network with frozen weights, whose gradients are not computed.
    pub fn frozen(&self) -> Self {
        let mut module = self.clone();
        let detached = self.parameters.val().detach();
        module.parameters = Param::from_tensor(detached).set_require_grad(false);
        module
    }

    /// Replaces the parameters, keeping everything else.
    ///
    /// # Errors
    /// When the length differs.
    pub fn with_parameters(mut self, parameters: Tensor<1>) -> Result<Self, Error> {
        let [actual] = parameters.dims();
        let expected = self.network.parameter_count();
        if actual != expected {
            return Err(Error::ParameterCount { expected, actual });
        }
        self.parameters = Param::from_tensor(parameters.detach());
        Ok(self)
    }

    /// The flat parameter vector as plain numbers.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn parameter_values(&self) -> Result<Vec<f32>, Error> {
        let parameters = self.parameters.val().detach();
        Ok(parameters.try_into_vec_as::<f32>()?)
    }

    /// The description.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Mean and variance of [`InputStatistics::Running`], `[in_channels]` each.
    pub fn running_statistics(&self) -> (Tensor<1>, Tensor<1>) {
        (self.running_mean.val(), self.running_variance.val())
    }

    /// Replaces the running statistics, `[in_channels]` each.
    pub fn with_running_statistics(mut self, mean: Tensor<1>, variance: Tensor<1>) -> Self {
        let frozen = |param: Param<Tensor<1>>, value: Tensor<1>| param.map(|_| value.detach());
        self.running_mean = frozen(self.running_mean, mean);
        self.running_variance = frozen(self.running_variance, variance);
        self
    }

    /// Updates the running statistics with a training batch, `[batch, in_channels, height, width]`.
    ///
    /// Does nothing for a network without batch norm.
    ///
    /// # Errors
    /// When the device cannot be read, or a rank stops or is lost.
    pub fn observe_input(self, images: Tensor<4>) -> Result<Self, Error> {
        if !self.network.normalises_input() {
            return Ok(self);
        }
        if let Some(ranks) = &self.ranks
            && self.runs_fused(&images)
        {
            let found = self
                .executors
                .input_moments(&self.network, &images, ranks)?;
            return Ok(match found {
                Some(found) => {
                    let tensor = |values: Vec<f32>| {
                        let length = values.len();
                        Tensor::from_data(TensorData::new(values, [length]), &images.device())
                    };
                    self.blended(found.values, tensor(found.means), tensor(found.variances))
                }
                None => self,
            });
        }
        let padded = self
            .network
            .layers()
            .iter()
            .take_while(|layer| matches!(layer, Layer::ReflectPad { .. }))
            .fold(images.detach(), |x, layer| match *layer {
                Layer::ReflectPad { px } => reflect_pad(x, px),
                _ => x,
            });
        let [batch, channels, height, width] = padded.dims();
        let values = (batch * height * width) as f64;
        let (mean, variance) = channel_moments(padded);
        Ok(self.blended(
            values,
            mean.reshape([channels]),
            variance.reshape([channels]),
        ))
    }

    /// With running statistics moved towards moments of so many values per channel, `[in_channels]` each.
    fn blended(self, values: f64, mean: Tensor<1>, variance: Tensor<1>) -> Self {
        let unbiased = variance * (values / (values - 1.0).max(1.0));
        let (old_mean, old_variance) = self.running_statistics();
        let blend =
            |old: Tensor<1>, new: Tensor<1>| old * (1.0 - Self::MOMENTUM) + new * Self::MOMENTUM;
        let mean = blend(old_mean, mean);
        let variance = blend(old_variance, unbiased);
        self.with_running_statistics(mean, variance)
    }

    /// Whether images go through the fused kernels: they and the weights are f32 on the CPU.
    fn runs_fused(&self, images: &Tensor<4>) -> bool {
        let in_f32 = [images.dtype(), self.parameters.val().dtype()] == [DType::F32; 2];
        in_f32 && images.device().inner() == Device::flex()
    }

    /// Runs the network: by the fused kernels of `mist_kernels` for f32 on the CPU, else by burn's operations.
    ///
    /// # Shapes
    /// - input: `[batch, in_channels, height, width]`
    /// - output: `[batch, out_channels, out_height, out_width]`
    ///
    /// # Errors
    /// When the network cannot read this size, or [`NetworkModule::parameters`] or the running statistics were replaced
    /// by tensors of another length.
    pub fn forward(
        &self,
        images: Tensor<4>,
        statistics: InputStatistics,
    ) -> Result<Tensor<4>, Error> {
        let parameters = self.parameters.val();
        let wants_gradient = parameters.is_require_grad() && self.network.is_forward_only();
        if !self.runs_fused(&images) || wants_gradient || self.network.layers().is_empty() {
            return self.forward_by_operations(images, statistics);
        }
        self.check_lengths()?;
        let statistics = match (statistics, &self.ranks) {
            _ if !self.network.normalises_input() => CallStatistics::Batch,
            (InputStatistics::Running, _) => {
                let (mean, variance) = self.running_statistics();
                CallStatistics::Given(mean.try_into_vec_as()?, variance.try_into_vec_as()?)
            }
            (InputStatistics::Batch, None) => CallStatistics::Batch,
            (InputStatistics::Batch, Some(ranks)) => {
                let found = self
                    .executors
                    .input_moments(&self.network, &images, ranks)?;
                found.map_or(CallStatistics::Batch, |found| {
                    CallStatistics::OfWholeBatch(found.means, found.variances)
                })
            }
        };
        let shards = self.ranks.as_ref().map(Ranks::own_shards);
        self.executors
            .run(&self.network, images, parameters, statistics, shards)
    }

    /// Runs the network by burn's own operations: the reference, used on other devices and in f64.
    ///
    /// # Errors
    /// As [`NetworkModule::forward`].
    pub fn forward_by_operations(
        &self,
        images: Tensor<4>,
        statistics: InputStatistics,
    ) -> Result<Tensor<4>, Error> {
        self.check_lengths()?;
        let [_, channels, height, width] = images.dims();
        self.network
            .output_shape(Shape::new(channels, height, width))?;
        let mut reader = ParameterReader::new(self, images.dtype());
        let mut x = images;
        let mut kept = Vec::new();
        for layer in self.network.layers() {
            match layer {
                Layer::Branch => kept.push(x.clone()),
                Layer::Join => x = kept.pop().map_or(x.clone(), |kept| relu(kept + x)),
                _ => x = self.apply(layer, x, &mut reader, statistics),
            }
        }
        Ok(x)
    }

    /// Parameters and running statistics can be replaced by tensors of any length.
    fn check_lengths(&self) -> Result<(), Error> {
        let [actual] = self.parameters.dims();
        let expected = self.network.parameter_count();
        if actual != expected {
            return Err(Error::ParameterCount { expected, actual });
        }
        let channels = self.network.in_channels();
        for statistic in [&self.running_mean, &self.running_variance] {
            let [actual] = statistic.dims();
            if actual != channels {
                return Err(Error::Mismatch {
                    what: "running statistics, one per input channel",
                    expected: vec![channels],
                    actual: vec![actual],
                });
            }
        }
        Ok(())
    }

    fn apply(
        &self,
        layer: &Layer,
        x: Tensor<4>,
        parameters: &mut ParameterReader,
        statistics: InputStatistics,
    ) -> Tensor<4> {
        match *layer {
            Layer::ReflectPad { px } => reflect_pad(x, px),
            Layer::BatchNorm => self.batch_norm(x, parameters.norm(), statistics),
            Layer::Norm => parameters.norm().apply(x),
            // A dense layer reads one pixel: there it is a 1x1 convolution.
            Layer::Conv1x1 { .. } | Layer::Dense { .. } => parameters.convolution().apply(x, 0),
            Layer::Conv3x3 { padding, .. } => parameters.convolution().apply(x, border_px(padding)),
            Layer::Residual(block) => residual(x, block, parameters),
            Layer::Relu => relu(x),
            Layer::MaxPool2 => max_pool2d(x, MaxPoolOptions::new([2, 2])),
            Layer::UpConv2 { .. } => {
                let Convolution { weight, bias } = parameters.convolution();
                let options = ConvTransposeOptions::new([2, 2], [0, 0], [0, 0], [1, 1], 1);
                conv_transpose2d(x, weight, Some(bias), options)
            }
            Layer::GlobalAveragePool => x.mean_dims(&[2, 3]),
            // Whoever calls this keeps and adds the maps.
            Layer::Branch | Layer::Join => x,
            Layer::Sigmoid => sigmoid(x),
            Layer::Softmax => softmax(x, 1),
            Layer::StridedConv(conv) => strided(x, conv, parameters),
            Layer::MaxPool3 => {
                let options = MaxPoolOptions::new([3, 3]);
                max_pool2d(x, options.with_stride([2, 2]).with_padding([1, 1]))
            }
            Layer::BasicBlock(block) => basic_block(x, block, parameters),
            Layer::InvertedResidual(block) => inverted_residual(x, block, parameters),
        }
    }

    fn batch_norm(&self, x: Tensor<4>, norm: Norm, statistics: InputStatistics) -> Tensor<4> {
        let (mean, variance) = match statistics {
            InputStatistics::Batch => channel_moments(x.clone()),
            InputStatistics::Running => {
                let (mean, variance) = self.running_statistics();
                let channels = self.network.in_channels();
                let per_channel = |t: Tensor<1>| t.cast(x.dtype()).reshape([1, channels, 1, 1]);
                (per_channel(mean), per_channel(variance))
            }
        };
        norm.scale_and_shift((x - mean) / (variance + Layer::NORM_EPSILON).sqrt())
    }
}

/// Splits the flat vector into tensors, in layer order.
struct ParameterReader {
    flat: Tensor<1>,
    specs: std::vec::IntoIter<mist_kernels::network::ParameterSpec>,
}

impl ParameterReader {
    fn new(module: &NetworkModule, dtype: DType) -> Self {
        Self {
            flat: module.parameters.val().cast(dtype),
            specs: module.network.parameters().into_iter(),
        }
    }

    /// The next tensor, shaped by its description with ones appended up to rank `D`.
    fn next<const D: usize>(&mut self) -> Tensor<D> {
        let (offset, dims) = match self.specs.next() {
            Some(spec) => (spec.offset, spec.shape),
            None => (0, vec![0]),
        };
        let length = dims.iter().product();
        let mut shape = [1; D];
        shape[..dims.len()].copy_from_slice(&dims);
        self.flat.clone().narrow(0, offset, length).reshape(shape)
    }

    fn convolution(&mut self) -> Convolution {
        Convolution {
            weight: self.next(),
            bias: self.next(),
        }
    }

    fn norm(&mut self) -> Norm {
        let [scale, shift] = [self.next::<1>(), self.next::<1>()];
        let channels = scale.dims()[0];
        Norm {
            scale: scale.reshape([1, channels, 1, 1]),
            shift: shift.reshape([1, channels, 1, 1]),
        }
    }
}

struct Convolution {
    weight: Tensor<4>,
    bias: Tensor<1>,
}

impl Convolution {
    fn apply(self, x: Tensor<4>, border_px: usize) -> Tensor<4> {
        self.stride(x, border_px, 1, 1)
    }

    fn stride(self, x: Tensor<4>, border_px: usize, stride: usize, groups: usize) -> Tensor<4> {
        let options = ConvOptions::new([stride; 2], [border_px; 2], [1, 1], groups);
        conv2d(x, self.weight, Some(self.bias), options)
    }
}

#[derive(Clone)]
struct Norm {
    scale: Tensor<4>,
    shift: Tensor<4>,
}

impl Norm {
    /// Normalises each sample over channels and pixels.
    fn apply(self, x: Tensor<4>) -> Tensor<4> {
        let [batch, channels, height, width] = x.dims();
        let flat = x.reshape([batch, channels * height * width]);
        let centred = flat.clone() - flat.mean_dim(1);
        let variance = centred.clone().square().mean_dim(1);
        let normalised = centred / (variance + Layer::NORM_EPSILON).sqrt();
        self.scale_and_shift(normalised.reshape([batch, channels, height, width]))
    }

    fn scale_and_shift(self, x: Tensor<4>) -> Tensor<4> {
        x * self.scale + self.shift
    }
}

fn residual(x: Tensor<4>, block: ResidualBlock, parameters: &mut ParameterReader) -> Tensor<4> {
    let [conv1, conv2] = [parameters.convolution(), parameters.convolution()];
    let norm1 = parameters.norm();
    let norm2 = if block.shared_norm {
        norm1.clone()
    } else {
        parameters.norm()
    };
    let border = border_px(block.padding);
    let skip = crop(x.clone(), block.padding.shrinks_by_px());
    let branch = match block.norm {
        NormPlacement::Before => {
            let x = relu(conv1.apply(norm1.apply(x), border));
            conv2.apply(norm2.apply(x), border)
        }
        NormPlacement::After => {
            let x = relu(norm1.apply(conv1.apply(x, border)));
            norm2.apply(conv2.apply(x, border))
        }
    };
    relu(skip + branch)
}

fn strided(x: Tensor<4>, conv: StridedConv, parameters: &mut ParameterReader) -> Tensor<4> {
    let border_px = conv.kernel_px / 2;
    let convolved = parameters
        .convolution()
        .stride(x, border_px, conv.stride, 1);
    activate(convolved, conv.activation)
}

fn activate(x: Tensor<4>, activation: Activation) -> Tensor<4> {
    match activation {
        Activation::None => x,
        Activation::Relu => relu(x),
        Activation::Relu6 => x.clamp(0.0, 6.0),
    }
}

fn basic_block(x: Tensor<4>, block: BasicBlock, parameters: &mut ParameterReader) -> Tensor<4> {
    let channels = x.dims()[1];
    let middle = relu(
        parameters
            .convolution()
            .stride(x.clone(), 1, block.stride, 1),
    );
    let branch = parameters.convolution().apply(middle, 1);
    let skip = match block.projects(channels) {
        true => parameters.convolution().stride(x, 0, block.stride, 1),
        false => x,
    };
    relu(branch + skip)
}

fn inverted_residual(
    x: Tensor<4>,
    block: InvertedResidual,
    parameters: &mut ParameterReader,
) -> Tensor<4> {
    let channels = x.dims()[1];
    let hidden = channels * block.expansion;
    let mut middle = x.clone();
    if block.expansion > 1 {
        middle = activate(parameters.convolution().apply(middle, 0), Activation::Relu6);
    }
    let depthwise = parameters.convolution();
    middle = activate(
        depthwise.stride(middle, 1, block.stride, hidden),
        Activation::Relu6,
    );
    let branch = parameters.convolution().apply(middle, 0);
    match block.is_residual(channels) {
        true => branch + x,
        false => branch,
    }
}

fn border_px(padding: Padding) -> usize {
    match padding {
        Padding::Same => 1,
        Padding::Valid => 0,
    }
}

fn crop(x: Tensor<4>, px: usize) -> Tensor<4> {
    if px == 0 {
        return x;
    }
    let [_, _, height, width] = x.dims();
    x.narrow(2, px, height - 2 * px)
        .narrow(3, px, width - 2 * px)
}

fn reflect_pad(x: Tensor<4>, px: usize) -> Tensor<4> {
    x.pad((px, px, px, px), PadMode::Reflect)
}

/// Mean and biased variance per channel over batch and pixels, `[1, channels, 1, 1]` each.
fn channel_moments(x: Tensor<4>) -> (Tensor<4>, Tensor<4>) {
    let mean = x.clone().mean_dims(&[0, 2, 3]);
    let variance = (x - mean.clone()).square().mean_dims(&[0, 2, 3]);
    (mean, variance)
}
