//! A whole network as one burn operation on the CPU, run by `mist_kernels` with a handwritten way back.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::{Tensor, TensorData};
use mist_kernels::executor::{Executor, ExecutorError, InputStatistics, Tape, Wanted};
use mist_kernels::network::{Network, Shape};
use mist_kernels::simd::{Isa, Precision};

use crate::Error;

/// What a call needs beside its tensors.
#[derive(Clone)]
pub struct NetworkCall {
    executor: Arc<Executor>,
    /// Means and variances of the input, where those of the batch are not to be used.
    given_statistics: Option<(Vec<f32>, Vec<f32>)>,
}

impl fmt::Debug for NetworkCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NetworkCall").finish_non_exhaustive()
    }
}

impl NetworkCall {
    fn statistics(&self) -> InputStatistics<'_> {
        match &self.given_statistics {
            Some((mean, variance)) => InputStatistics::Given { mean, variance },
            None => InputStatistics::Batch,
        }
    }
}

/// The operation.
#[backend_extension(Flex, Autodiff)]
pub trait FusedNetwork: Backend {
    /// `[batch, channels, height, width]` images and flat parameters to `[batch, channels, height, width]` outputs.
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
        let batch = images.shape()[0];
        let result = call
            .executor
            .forward(values(&parameters), values(&images), call.statistics());
        output_tensor(result, batch, &call)
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
        match NetworkWayBack
            .prepare::<C>(nodes)
            .compute_bound()
            .stateful()
        {
            OpsKind::UnTracked(prep) => prep.finish(Flex::fused_network(images, parameters, call)),
            OpsKind::Tracked(prep) => {
                let batch = images.shape()[0];
                let result = call.executor.forward_with_tape(
                    values(&parameters),
                    values(&images),
                    call.statistics(),
                );
                let (output, tape) = match result {
                    Ok((output, tape)) => (Ok(output), Some(tape)),
                    Err(error) => (Err(error), None),
                };
                let output = output_tensor(output, batch, &call);
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

/// What the way back keeps; the tape is used once.
#[derive(Clone)]
struct State {
    call: NetworkCall,
    parameters: FlexTensor,
    images: Vec<usize>,
    tape: Arc<Mutex<Option<Tape>>>,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct NetworkWayBack;

impl Backward<Flex, 2> for NetworkWayBack {
    type State = State;

    fn backward(self, ops: Ops<State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = grads.consume::<Flex>(&ops.node).to_contiguous();
        let [images, parameters] = ops.parents;
        // A gradient that nobody asked for is not computed.
        let wanted = Wanted {
            input: images.is_some(),
            parameters: parameters.is_some(),
        };
        let state = ops.state;
        let tape = state
            .tape
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let parameter_values = values(&state.parameters);
        let found = tape.and_then(|tape| {
            let executor = &state.call.executor;
            executor
                .backward(parameter_values, tape, values(&gradient), wanted)
                .ok()
        });
        let found = found.unwrap_or_default();
        if let (Some(node), Some(gradient)) = (images, found.input) {
            let data = TensorData::new(gradient, state.images);
            grads.register::<Flex>(node.id, FlexTensor::from_data(data));
        }
        if let (Some(node), Some(gradient)) = (parameters, found.parameters) {
            let length = gradient.len();
            let data = TensorData::new(gradient, [length]);
            grads.register::<Flex>(node.id, FlexTensor::from_data(data));
        }
    }
}

fn values(tensor: &FlexTensor) -> &[f32] {
    tensor.storage::<f32>()
}

/// The caller has checked all lengths, so an error cannot happen; NaN would make one visible in every loss.
fn output_tensor(
    output: Result<Vec<f32>, ExecutorError>,
    batch: usize,
    call: &NetworkCall,
) -> FlexTensor {
    let shape = call.executor.output_shape();
    let output = output.unwrap_or_else(|_| vec![f32::NAN; batch * shape.len()]);
    let dims = [batch, shape.channels, shape.height_px, shape.width_px];
    FlexTensor::from_data(TensorData::new(output, dims))
}

/// Executors by input size, so that each is prepared once and its memory is used again.
#[derive(Clone, Default)]
pub(super) struct Executors(Arc<Mutex<Known>>);

type Known = Vec<(Shape, Arc<Executor>)>;

impl fmt::Debug for Executors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executors").finish_non_exhaustive()
    }
}

impl Executors {
    /// More sizes than a multi-scale network has.
    const MOST: usize = 16;

    fn get(&self, network: &Network, shape: Shape) -> Result<Arc<Executor>, Error> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, executor)) = known.iter().find(|(known, _)| *known == shape) {
            return Ok(Arc::clone(executor));
        }
        let (isa, precision) = (Isa::selected()?, Precision::selected()?);
        let executor = Arc::new(Executor::new(network, shape, isa, precision)?);
        if known.len() == Self::MOST {
            known.remove(0);
        }
        known.push((shape, Arc::clone(&executor)));
        Ok(executor)
    }

    /// Runs the network; the tensors are f32 on the CPU and the parameters' length is right.
    pub fn run(
        &self,
        network: &Network,
        images: Tensor<4>,
        parameters: Tensor<1>,
        given_statistics: Option<(Vec<f32>, Vec<f32>)>,
    ) -> Result<Tensor<4>, Error> {
        let [_, channels, height, width] = images.dims();
        let executor = self.get(network, Shape::new(channels, height, width))?;
        let call = NetworkCall {
            executor,
            given_statistics,
        };
        let (images, parameters) = (images.into_dispatch(), parameters.into_dispatch());
        let output = <Dispatch as FusedNetwork>::fused_network(images, parameters, call);
        Ok(Tensor::from_dispatch(output))
    }
}
