//! S and S^-1 as one burn operation each on the CPU, run by `mist_kernels` with a handwritten way back.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::{DType, Device, Tensor, TensorData};
use mist_kernels::sampler::{self, SamplerError, Sizes, Wanted};

/// Which way a call goes.
#[derive(Clone, Copy, Debug)]
pub enum Direction {
    /// S: images to patches.
    Sample,
    /// S^-1: patches to images.
    Paste,
}

/// What a call needs beside its tensors.
#[derive(Clone, Debug)]
pub struct SamplerCall {
    direction: Direction,
    sizes: Sizes,
}

impl SamplerCall {
    fn output_dims(&self) -> Vec<usize> {
        let sizes = &self.sizes;
        let patch_px = sizes.patch_px;
        match self.direction {
            Direction::Sample => vec![
                sizes.batch,
                sizes.instances,
                sizes.channels,
                patch_px,
                patch_px,
            ],
            Direction::Paste => vec![sizes.batch, sizes.channels, sizes.height_px, sizes.width_px],
        }
    }

    fn forward(&self, source: &[f32], keypoints: &[f32]) -> Result<Vec<f32>, SamplerError> {
        match self.direction {
            Direction::Sample => sampler::sample(source, keypoints, &self.sizes),
            Direction::Paste => sampler::paste(source, keypoints, &self.sizes),
        }
    }

    fn backward(
        &self,
        source: &[f32],
        keypoints: &[f32],
        gradient: &[f32],
        wanted: Wanted,
    ) -> Result<sampler::Gradients, SamplerError> {
        let way_back = match self.direction {
            Direction::Sample => sampler::sample_backward,
            Direction::Paste => sampler::paste_backward,
        };
        way_back(source, keypoints, gradient, &self.sizes, wanted)
    }
}

/// The operation.
#[backend_extension(Flex, Autodiff)]
pub trait FusedSampler: Backend {
    /// `[batch, channels, height, width]` images to `[batch, K, channels, patch_px, patch_px]` patches or back.
    fn fused_sampler(
        source: FloatTensor<Self>,
        keypoints: FloatTensor<Self>,
        call: SamplerCall,
    ) -> FloatTensor<Self>;
}

impl FusedSampler for Flex {
    fn fused_sampler(
        source: FloatTensor<Self>,
        keypoints: FloatTensor<Self>,
        call: SamplerCall,
    ) -> FloatTensor<Self> {
        let (source, keypoints) = (source.to_contiguous(), keypoints.to_contiguous());
        let dims = call.output_dims();
        let output = call.forward(values(&source), values(&keypoints));
        // The caller has checked all shapes, so an error cannot happen; NaN would make one visible in every loss.
        let output = output.unwrap_or_else(|_| vec![f32::NAN; dims.iter().product()]);
        FlexTensor::from_data(TensorData::new(output, dims))
    }
}

impl<C: CheckpointStrategy> FusedSampler for Autodiff<Flex, C> {
    fn fused_sampler(
        source: FloatTensor<Self>,
        keypoints: FloatTensor<Self>,
        call: SamplerCall,
    ) -> FloatTensor<Self> {
        let nodes = [source.node(), keypoints.node()];
        let [source, keypoints] =
            [source, keypoints].map(|tensor| tensor.into_primitive().to_contiguous());
        match SamplerWayBack
            .prepare::<C>(nodes)
            .compute_bound()
            .stateful()
        {
            OpsKind::UnTracked(prep) => prep.finish(Flex::fused_sampler(source, keypoints, call)),
            OpsKind::Tracked(prep) => {
                let output = Flex::fused_sampler(source.clone(), keypoints.clone(), call.clone());
                let state = State {
                    call,
                    source,
                    keypoints,
                };
                prep.finish(state, output)
            }
        }
    }
}

/// What the way back keeps.
#[derive(Clone, Debug)]
struct State {
    call: SamplerCall,
    source: FlexTensor,
    keypoints: FlexTensor,
}

#[derive(Debug)]
struct SamplerWayBack;

impl Backward<Flex, 2> for SamplerWayBack {
    type State = State;

    fn backward(self, ops: Ops<State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = grads.consume::<Flex>(&ops.node).to_contiguous();
        let [source, keypoints] = ops.parents;
        // A gradient that nobody asked for is not computed.
        let wanted = Wanted {
            source: source.is_some(),
            keypoints: keypoints.is_some(),
        };
        let state = ops.state;
        let found = state.call.backward(
            values(&state.source),
            values(&state.keypoints),
            values(&gradient),
            wanted,
        );
        let found = found.unwrap_or_default();
        let pairs = [
            (source, found.source, state.source),
            (keypoints, found.keypoints, state.keypoints),
        ];
        for (node, gradient, like) in pairs {
            if let (Some(node), Some(gradient)) = (node, gradient) {
                let data = TensorData::new(gradient, like.shape().to_vec());
                grads.register::<Flex>(node.id, FlexTensor::from_data(data));
            }
        }
    }
}

fn values(tensor: &FlexTensor) -> &[f32] {
    tensor.storage::<f32>()
}

/// Whether the operation can read both tensors: f32 on the CPU.
pub(super) fn can_run<const D: usize>(source: &Tensor<D>, keypoints: &Tensor<3>) -> bool {
    let devices = [source.device(), keypoints.device()].map(Device::inner);
    let types = [source.dtype(), keypoints.dtype()];
    devices == [Device::flex(), Device::flex()] && types == [DType::F32; 2]
}

/// Runs the operation; the tensors are f32 on the CPU and have these sizes.
pub(super) fn run<const D: usize, const OUT: usize>(
    source: Tensor<D>,
    keypoints: Tensor<3>,
    direction: Direction,
    sizes: Sizes,
) -> Tensor<OUT> {
    let call = SamplerCall { direction, sizes };
    let (source, keypoints) = (source.into_dispatch(), keypoints.into_dispatch());
    let output = <Dispatch as FusedSampler>::fused_sampler(source, keypoints, call);
    Tensor::from_dispatch(output)
}
