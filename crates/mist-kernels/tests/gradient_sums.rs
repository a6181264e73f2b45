//! Gradients of a batch are the sums of its samples' gradients, and those of a tape belong to its executor.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mist_kernels::executor::{Executor, ExecutorError, InputStatistics, Wanted, moments_of_sums};
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
        .forward_with_tape(&[], &[0.5; 16], InputStatistics::Batch, 1)
        .unwrap();
    let wanted = Wanted {
        input: true,
        parameters: true,
    };
    let found = large.backward(&[], tape, &[1.0; 16], wanted);
    assert_eq!(found.err(), Some(ExecutorError::ForeignTape));
}

/// Five samples are no multiple of the parts or of a block.
#[test]
fn half_of_a_batch_gives_the_rows_of_its_parts() {
    let layers = vec![
        Layer::ReflectPad { px: 1 },
        Layer::BatchNorm,
        Layer::Conv1x1 { out_channels: 8 },
    ];
    let network = Network::new(2, layers).unwrap();
    let (shape, half) = (Shape::new(2, 9, 7), 5);
    let executor = Executor::new(&network, shape, Isa::best(), Precision::F32).unwrap();
    let parameters = numbers(1, network.parameter_count());
    let images = numbers(2, 2 * half * shape.len());
    let cotangent = numbers(3, 2 * half * executor.output_shape().len());
    let halves = images.chunks_exact(half * shape.len());
    let mut sums = vec![0.0; 5];
    for images in halves.clone() {
        for (sum, value) in sums.iter_mut().zip(executor.input_sums(images).unwrap()) {
            *sum += value;
        }
    }
    let (mean, variance) = moments_of_sums(&sums);
    let statistics = InputStatistics::OfWholeBatch {
        mean: &mean,
        variance: &variance,
    };
    let rows = |images: &[f32], cotangent: &[f32], parts, input| {
        let (_, tape) = executor
            .forward_with_tape(&parameters, images, statistics, parts)
            .unwrap();
        let wanted = Wanted {
            input,
            parameters: true,
        };
        executor.backward(&parameters, tape, cotangent, wanted)
    };
    let whole = rows(&images, &cotangent, 4, false)
        .unwrap()
        .parameters
        .unwrap();
    let cotangents = cotangent.chunks_exact(cotangent.len() / 2);
    let apart = halves.zip(cotangents).map(|(images, cotangent)| {
        rows(images, cotangent, 2, false)
            .unwrap()
            .parameters
            .unwrap()
    });
    assert_eq!(apart.collect::<Vec<_>>().concat(), whole);
    let error = rows(&images, &cotangent, 4, true).err();
    assert_eq!(error, Some(ExecutorError::PartOfBatch));

    let (_, own) = executor
        .forward_with_tape(&parameters, &images, InputStatistics::Batch, 4)
        .unwrap();
    let wanted = Wanted {
        input: true,
        parameters: true,
    };
    let own = executor
        .backward(&parameters, own, &cotangent, wanted)
        .unwrap();
    for (a, b) in own.parameters.unwrap().into_iter().zip(whole) {
        assert!((a - b).abs() < 1e-4 * b.abs().max(1.0), "{a} {b}");
    }
}
