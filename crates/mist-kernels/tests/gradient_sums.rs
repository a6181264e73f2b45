//! Gradients of a batch are the sums of its samples' gradients, and those of a tape belong to its executor.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mist_kernels::executor::{Executor, ExecutorError, InputStatistics, Wanted};
use mist_kernels::network::{Layer, Network, NormPlacement, Padding, ResidualBlock, Shape};
use mist_kernels::simd::{Isa, Precision};
use support::{numbers, run};

/// Few parameters and large maps: buffers that held a map are used again for gradients, longer than these need.
#[test]
fn a_batch_is_the_sum_of_its_samples() {
    let block = Layer::Residual(ResidualBlock {
        padding: Padding::Valid,
        norm: NormPlacement::After,
        shared_norm: true,
    });
    let conv1 = |out_channels| Layer::Conv1x1 { out_channels };
    let network = Network::new(3, vec![conv1(32), block, conv1(1)]).unwrap();
    let (shape, batch) = (Shape::new(3, 41, 36), 9);
    let parameters = numbers(1, network.parameter_count());
    let images = numbers(2, batch * shape.len());
    for precision in [Precision::F32, Precision::Bf16] {
        let executor = Executor::new(&network, shape, Isa::best(), precision).unwrap();
        let cotangent = numbers(3, batch * executor.output_shape().len());
        let whole = run(&executor, &parameters, &images, &cotangent);
        let mut sums = vec![0.0; parameters.len()];
        let samples = images.chunks_exact(shape.len());
        for (image, cotangent) in samples.zip(cotangent.chunks_exact(cotangent.len() / batch)) {
            let part = run(&executor, &parameters, image, cotangent).parameters;
            for (sum, value) in sums.iter_mut().zip(part) {
                *sum += value;
            }
        }
        let largest = sums.iter().fold(0.0f32, |most, sum| most.max(sum.abs()));
        for (sum, value) in sums.iter().zip(whole.parameters) {
            assert!((sum - value).abs() < 1e-5 * largest, "{sum} {value}");
        }
    }
}

#[test]
fn the_tape_of_another_executor_is_refused() {
    let network = Network::new(1, vec![Layer::Relu, Layer::Sigmoid]).unwrap();
    let executor = |side| {
        let shape = Shape::new(1, side, side);
        Executor::new(&network, shape, Isa::best(), Precision::F32).unwrap()
    };
    let [small, large] = [2, 4].map(executor);
    let (_, tape) = small
        .forward_with_tape(&[], &[0.5; 16], InputStatistics::Batch)
        .unwrap();
    let wanted = Wanted {
        input: true,
        parameters: true,
    };
    let found = large.backward(&[], tape, &[1.0; 16], wanted);
    assert_eq!(found.err(), Some(ExecutorError::ForeignTape));
}
