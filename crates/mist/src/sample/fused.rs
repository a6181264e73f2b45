//! S and S^-1 as one burn operation each on the CPU, run by `mist_kernels` with a handwritten backward pass.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::{DType, Device, Tensor};
use mist_kernels::sampler::{self, SamplerError, Sizes, Wanted};

use crate::flex::{tensor_or_nan, values};

/// Which operator a call runs.
#[derive(Clone, Copy, Debug)]
pub enum Direction {
    /// S: images to patches.
    Sample,
    /// S^-1: patches to images.
    Paste,
}

/// Arguments of a call beside its tensors.
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
        let backward = match self.direction {
            Direction::Sample => sampler::sample_backward,
            Direction::Paste => sampler::paste_backward,
        };
        backward(source, keypoints, gradient, &self.sizes, wanted)
    }
}

/// S and S^-1 as a burn operation.
#[backend_extension(Flex, Autodiff)]
pub trait FusedSampler: Backend {
    /// Runs S or S^-1.
    ///
    /// # Shapes
    /// - `source` of S, output of S^-1: `[batch, channels, height, width]`
    /// - `source` of S^-1, output of S: `[batch, K, channels, patch_px, patch_px]`
    /// - `keypoints`: `[batch, K, 3]`
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
        tensor_or_nan(output.ok(), &dims)
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
        match SamplerBackward
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

/// What the backward pass needs of the forward pass.
#[derive(Clone, Debug)]
struct State {
    call: SamplerCall,
    source: FlexTensor,
    keypoints: FlexTensor,
}

impl State {
    /// Gradients of the source and of the keypoints, each only if wanted; NaN if they cannot be computed.
    fn gradients(&self, output_gradient: &FlexTensor, wanted: Wanted) -> [Option<FlexTensor>; 2] {
        let found = self.call.backward(
            values(&self.source),
            values(&self.keypoints),
            values(output_gradient),
            wanted,
        );
        let found = found.unwrap_or_default();
        let like =
            |gradient, tensor: &FlexTensor| tensor_or_nan(gradient, &tensor.shape().to_vec());
        [
            wanted.source.then(|| like(found.source, &self.source)),
            wanted
                .keypoints
                .then(|| like(found.keypoints, &self.keypoints)),
        ]
    }
}

#[derive(Debug)]
struct SamplerBackward;

impl Backward<Flex, 2> for SamplerBackward {
    type State = State;

    fn backward(self, ops: Ops<State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = grads.consume::<Flex>(&ops.node).to_contiguous();
        let wanted = Wanted {
            source: ops.parents[0].is_some(),
            keypoints: ops.parents[1].is_some(),
        };
        let found = ops.state.gradients(&gradient, wanted);
        for (node, gradient) in ops.parents.into_iter().zip(found) {
            if let (Some(node), Some(gradient)) = (node, gradient) {
                grads.register::<Flex>(node.id, gradient);
            }
        }
    }
}

/// Whether the operation can run on these tensors: f32 on the CPU.
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

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;

    fn ones(dims: &[usize]) -> FlexTensor {
        let values = vec![1.0f32; dims.iter().product()];
        FlexTensor::from_data(TensorData::new(values, dims.to_vec()))
    }

    #[test]
    fn an_error_of_the_sampler_gives_gradients_of_nan() {
        let sizes = Sizes {
            batch: 1,
            instances: 2,
            channels: 1,
            height_px: 5,
            width_px: 4,
            base_box_px: 3.0,
            patch_px: 3,
        };
        let (images, patches, keypoints) = ([1, 1, 5, 4], [1, 2, 1, 3, 3], [1, 2, 3]);
        let cases: [(_, &[usize], &[usize]); 2] = [
            (Direction::Sample, &images, &patches),
            (Direction::Paste, &patches, &images),
        ];
        for (direction, source, output) in cases {
            let state = State {
                call: SamplerCall { direction, sizes },
                source: ones(source),
                keypoints: ones(&keypoints),
            };
            let both = Wanted {
                source: true,
                keypoints: true,
            };
            let shapes = [source, &keypoints];
            let found = state.gradients(&ones(output), both);
            for (gradient, shape) in found.into_iter().zip(shapes) {
                let gradient = gradient.unwrap();
                assert_eq!(gradient.shape().to_vec(), shape);
                assert!(values(&gradient).iter().all(|value| value.is_finite()));
            }
            let found = state.gradients(&ones(&[1]), both);
            for (gradient, shape) in found.into_iter().zip(shapes) {
                let gradient = gradient.unwrap();
                assert_eq!(gradient.shape().to_vec(), shape);
                assert!(values(&gradient).iter().all(|value| value.is_nan()));
            }
        }
    }
}
