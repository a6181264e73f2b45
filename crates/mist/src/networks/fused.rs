//! A whole network as one burn operation on the CPU, run by `mist_kernels` with a handwritten backward pass.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::Tensor;
use mist_kernels::executor::{Executor, InputStatistics, Tape, Wanted, moments_of_sums};
use mist_kernels::network::{Network, Shape};
use mist_kernels::simd::{Isa, Precision};

use crate::Error;
use crate::flex::{tensor_or_nan, values};
use crate::ranks::{Ranks, sum_rows};

/// Arguments of a call beside its tensors.
#[derive(Clone)]
pub struct NetworkCall {
    executor: Arc<Executor>,
    statistics: CallStatistics,
    /// Parts of the batch whose gradients of the parameters are wanted apart, one after the other.
    shards: Option<usize>,
}

/// Means and variances of the input, `[in_channels]` each.
#[derive(Clone)]
pub(super) enum CallStatistics {
    /// Those of the images.
    Batch,
    /// Those of a batch that the images are a part of.
    OfWholeBatch(Vec<f32>, Vec<f32>),
    /// Others.
    Given(Vec<f32>, Vec<f32>),
}

impl fmt::Debug for NetworkCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NetworkCall").finish_non_exhaustive()
    }
}

impl NetworkCall {
    fn statistics(&self) -> InputStatistics<'_> {
        match &self.statistics {
            CallStatistics::Batch => InputStatistics::Batch,
            CallStatistics::OfWholeBatch(mean, variance) => {
                InputStatistics::OfWholeBatch { mean, variance }
            }
            CallStatistics::Given(mean, variance) => InputStatistics::Given { mean, variance },
        }
    }

    fn output_dims(&self, images: &FlexTensor) -> [usize; 4] {
        let shape = self.executor.output_shape();
        let batch = images.shape()[0];
        [batch, shape.channels, shape.height_px, shape.width_px]
    }
}

/// A network as a burn operation.
#[backend_extension(Flex, Autodiff)]
pub trait FusedNetwork: Backend {
    /// Runs the network.
    ///
    /// # Shapes
    /// - `images`: `[batch, in_channels, height, width]`
    /// - `parameters`: `[parameter_count]`; of their gradient there are as many one after the other as the call has shards
    /// - output: `[batch, out_channels, out_height, out_width]`
    fn fused_network(
        images: FloatTensor<Self>,
        parameters: FloatTensor<Self>,
        call: NetworkCall,
    ) -> FloatTensor<Self>;
}

impl FusedNetwork for Flex {
    fn fused_network(
        images: FloatTensor<Self>,
        parameters: FloatTensor<Self>,
        call: NetworkCall,
    ) -> FloatTensor<Self> {
        let (images, parameters) = (images.to_contiguous(), parameters.to_contiguous());
        let output = call
            .executor
            .forward(values(&parameters), values(&images), call.statistics());
        tensor_or_nan(output.ok(), &call.output_dims(&images))
    }
}

impl<C: CheckpointStrategy> FusedNetwork for Autodiff<Flex, C> {
    fn fused_network(
        images: FloatTensor<Self>,
        parameters: FloatTensor<Self>,
        call: NetworkCall,
    ) -> FloatTensor<Self> {
        let nodes = [images.node(), parameters.node()];
        let [images, parameters] =
            [images, parameters].map(|tensor| tensor.into_primitive().to_contiguous());
        match NetworkBackward
            .prepare::<C>(nodes)
            .compute_bound()
            .stateful()
        {
            OpsKind::UnTracked(prep) => prep.finish(Flex::fused_network(images, parameters, call)),
            OpsKind::Tracked(prep) => {
                let result = call.executor.forward_with_tape(
                    values(&parameters),
                    values(&images),
                    call.statistics(),
                    call.shards.unwrap_or(Ranks::SHARDS),
                );
                let (output, tape) = result.ok().unzip();
                let output = tensor_or_nan(output, &call.output_dims(&images));
                let state = State {
                    call,
                    parameters,
                    images: images.shape().to_vec(),
                    tape: Arc::new(Mutex::new(tape)),
                };
                prep.finish(state, output)
            }
        }
    }
}

/// What the backward pass needs of the forward pass.
#[derive(Clone)]
struct State {
    call: NetworkCall,
    parameters: FlexTensor,
    /// Shape of the images.
    images: Vec<usize>,
    /// Used up by one backward pass.
    tape: Arc<Mutex<Option<Tape>>>,
}

impl State {
    /// Gradients of the images and of the parameters, each only if wanted; NaN if they cannot be computed.
    fn gradients(&self, output_gradient: &FlexTensor, wanted: Wanted) -> [Option<FlexTensor>; 2] {
        let parameters = values(&self.parameters);
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        let found = tape.take().and_then(|tape| {
            let executor = &self.call.executor;
            executor
                .backward(parameters, tape, values(output_gradient), wanted)
                .ok()
        });
        let mut found = found.unwrap_or_default();
        if self.call.shards.is_none() {
            let rows = found.parameters.take();
            found.parameters = rows.map(|rows| sum_rows(rows, parameters.len()));
        }
        let length = [self.call.shards.unwrap_or(1) * parameters.len()];
        [
            wanted
                .input
                .then(|| tensor_or_nan(found.input, &self.images)),
            wanted
                .parameters
                .then(|| tensor_or_nan(found.parameters, &length)),
        ]
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct NetworkBackward;

impl Backward<Flex, 2> for NetworkBackward {
    type State = State;

    fn backward(self, ops: Ops<State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = grads.consume::<Flex>(&ops.node).to_contiguous();
        let wanted = Wanted {
            input: ops.parents[0].is_some(),
            parameters: ops.parents[1].is_some(),
        };
        let found = ops.state.gradients(&gradient, wanted);
        for (node, gradient) in ops.parents.into_iter().zip(found) {
            if let (Some(node), Some(gradient)) = (node, gradient) {
                grads.register::<Flex>(node.id, gradient);
            }
        }
    }
}

/// What a batch norm sees of a batch.
pub(super) struct InputMoments {
    /// Values per channel.
    pub values: f64,
    /// `[in_channels]`
    pub means: Vec<f32>,
    /// `[in_channels]`
    pub variances: Vec<f32>,
}

/// Executors by input size, so that each is compiled once and its memory is reused.
#[derive(Clone, Default)]
pub(super) struct Executors(Arc<Mutex<Known>>);

type Known = Vec<(Shape, Arc<Executor>)>;

impl fmt::Debug for Executors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executors").finish_non_exhaustive()
    }
}

impl Executors {
    /// Most executors that are kept, more than a multi-scale network needs.
    const CAPACITY: usize = 16;
    /// Most pixels of their inputs together: each keeps hundreds of bytes per pixel, and photographs come in many sizes.
    const CAPACITY_PX: usize = 1 << 20;

    fn get(&self, network: &Network, shape: Shape) -> Result<Arc<Executor>, Error> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, executor)) = known.iter().find(|(known, _)| *known == shape) {
            return Ok(Arc::clone(executor));
        }
        let (isa, precision) = (Isa::selected()?, Precision::selected()?);
        let executor = Arc::new(Executor::new(network, shape, isa, precision)?);
        known.push((shape, Arc::clone(&executor)));
        let is_full = |known: &Known| {
            let inputs_px = known
                .iter()
                .map(|(shape, _)| shape.height_px * shape.width_px);
            known.len() > Self::CAPACITY || inputs_px.sum::<usize>() > Self::CAPACITY_PX
        };
        while known.len() > 1 && is_full(&known) {
            known.remove(0);
        }
        Ok(executor)
    }

    /// Number of values per input channel, and their means and variances, over the images of all ranks. Without a batch
    /// norm nothing.
    pub fn input_moments(
        &self,
        network: &Network,
        images: &Tensor<4>,
        ranks: &Ranks,
    ) -> Result<Option<InputMoments>, Error> {
        let [batch, channels, height, width] = images.dims();
        let executor = self.get(network, Shape::new(channels, height, width))?;
        let values = images.clone().detach().try_into_vec_as::<f32>()?;
        let (shards, image) = (ranks.own_shards(), channels * height * width);
        let bound = |shard: usize| shard * batch / shards * image;
        let mut rows = Vec::new();
        for shard in 0..shards {
            rows.extend(executor.input_sums(&values[bound(shard)..bound(shard + 1)])?);
        }
        let length = rows.len() / shards;
        if length == 0 {
            return Ok(None);
        }
        let sums = ranks.sum(rows, length)?;
        let (means, variances) = moments_of_sums(&sums);
        Ok(Some(InputMoments {
            values: sums[0],
            means,
            variances,
        }))
    }

    /// Runs the network; the tensors are f32 on the CPU and the parameters' length is right.
    pub fn run(
        &self,
        network: &Network,
        images: Tensor<4>,
        parameters: Tensor<1>,
        statistics: CallStatistics,
        shards: Option<usize>,
    ) -> Result<Tensor<4>, Error> {
        let [_, channels, height, width] = images.dims();
        let executor = self.get(network, Shape::new(channels, height, width))?;
        let call = NetworkCall {
            executor,
            statistics,
            shards,
        };
        let (images, parameters) = (images.into_dispatch(), parameters.into_dispatch());
        let output = <Dispatch as FusedNetwork>::fused_network(images, parameters, call);
        Ok(Tensor::from_dispatch(output))
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;
    use mist_kernels::network::Layer;

    use super::*;

    const BOTH: Wanted = Wanted {
        input: true,
        parameters: true,
    };

    /// A forward pass of one 1x1 convolution on two images of 2 x 3 px.
    fn state() -> State {
        let network = Network::new(1, vec![Layer::Conv1x1 { out_channels: 1 }]).unwrap();
        let shape = Shape::new(1, 2, 3);
        let executor = Executor::new(&network, shape, Isa::best(), Precision::F32).unwrap();
        let parameters = [0.5, 0.25];
        let (_, tape) = executor
            .forward_with_tape(&parameters, &[1.0; 12], InputStatistics::Batch, 4)
            .unwrap();
        State {
            call: NetworkCall {
                executor: Arc::new(executor),
                statistics: CallStatistics::Batch,
                shards: None,
            },
            parameters: FlexTensor::from_data(TensorData::from(parameters)),
            images: vec![2, 1, 2, 3],
            tape: Arc::new(Mutex::new(Some(tape))),
        }
    }

    fn ones(dims: [usize; 4]) -> FlexTensor {
        let values = vec![1.0f32; dims.iter().product()];
        FlexTensor::from_data(TensorData::new(values, dims))
    }

    fn shapes_and_values(found: [Option<FlexTensor>; 2]) -> [(Vec<usize>, Vec<f32>); 2] {
        found.map(|gradient| {
            let gradient = gradient.unwrap();
            (gradient.shape().to_vec(), values(&gradient).to_vec())
        })
    }

    #[test]
    fn a_tape_that_was_used_up_gives_gradients_of_nan() {
        let (state, gradient) = (state(), ones([2, 1, 2, 3]));
        let first = shapes_and_values(state.gradients(&gradient, BOTH));
        let second = shapes_and_values(state.clone().gradients(&gradient, BOTH));
        for ((shape, values), (second_shape, second_values)) in first.into_iter().zip(second) {
            assert_eq!(shape, second_shape);
            assert!(values.iter().all(|value| value.is_finite()));
            assert!(second_values.iter().all(|value| value.is_nan()));
        }
    }

    #[test]
    fn an_error_of_the_executor_gives_gradients_of_nan() {
        let too_small = ones([1, 1, 2, 3]);
        for (_, values) in shapes_and_values(state().gradients(&too_small, BOTH)) {
            assert!(!values.is_empty() && values.iter().all(|value| value.is_nan()));
        }
    }

    #[test]
    fn unwanted_gradients_are_left_out() {
        let wanted = Wanted {
            input: false,
            parameters: true,
        };
        let [input, parameters] = state().gradients(&ones([2, 1, 2, 3]), wanted);
        assert!(input.is_none() && parameters.is_some());
    }

    #[test]
    fn gradients_of_shards_add_up() {
        let gradient = ones([2, 1, 2, 3]);
        let summed = shapes_and_values(state().gradients(&gradient, BOTH));
        let mut apart = state();
        apart.call.shards = Some(4);
        let apart = shapes_and_values(apart.gradients(&gradient, BOTH));
        assert_eq!(
            (apart[1].0[0], &apart[1].1),
            (8, &vec![0.0, 0.0, 6.0, 6.0, 0.0, 0.0, 6.0, 6.0])
        );
        assert_eq!(summed[1].1, [12.0, 12.0]);
        assert_eq!(summed[0], apart[0]);
    }

    #[test]
    fn few_executors_of_large_images_are_kept() {
        let network = Network::new(1, vec![Layer::Conv1x1 { out_channels: 1 }]).unwrap();
        let executors = Executors::default();
        let kept = |side_px| {
            let shape = Shape::new(1, side_px, side_px);
            executors.get(&network, shape).unwrap();
            executors.0.lock().unwrap().len()
        };
        assert_eq!([kept(8), kept(9), kept(8)], [1, 2, 2]);
        assert_eq!([kept(700), kept(701), kept(702)], [3, 4, 2]);
        assert_eq!([kept(2000), kept(2001)], [1, 1]);
    }
}
