//! Convolutions on bf16 tiles against plain sums in f64 of the same rounded factors.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/cases.rs"]
mod cases;
#[path = "support/reference.rs"]
mod reference;
mod support;

use cases::{Case, conv1, conv3, up};
use mist_kernels::executor::{Executor, ExecutorError};
use mist_kernels::network::{Layer, Padding};
use mist_kernels::simd::{Isa, IsaError, Precision};
use reference::reference;
use support::{Outcome, numbers, run};

fn check(case: &Case, isa: Isa) {
    let executor = Executor::new(&case.network(), case.shape(), isa, Precision::Bf16).unwrap();
    let Outcome {
        output,
        input,
        parameters,
    } = case.run(&executor);
    let expected = reference(case, executor.output_shape());
    let found = [output, input, parameters];
    for (which, name) in ["output", "input gradient", "parameter gradient"]
        .iter()
        .enumerate()
    {
        for (at, &value) in found[which].iter().enumerate() {
            let distance = (f64::from(value) - expected.sums[which][at]).abs();
            let allowed = 1e-6 * expected.sizes[which][at] + 1e-9;
            assert!(
                distance <= allowed,
                "{name} {at} of {} on {} samples of {}x{}x{} with {isa}: {value} instead of {}",
                case.layer,
                case.batch,
                case.channels,
                case.height,
                case.width,
                expected.sums[which][at]
            );
        }
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |layer, channels, sizes: &[(usize, usize, usize)]| {
        for &(batch, height, width) in sizes {
            cases.push(Case {
                layer: Layer::clone(&layer),
                batch,
                channels,
                height,
                width,
            });
        }
    };
    let odd = &[(1, 3, 5), (3, 11, 9), (2, 16, 4), (19, 5, 3), (1, 1, 40)];
    let tiny = &[
        (1, 1, 1),
        (5, 2, 2),
        (18, 1, 1),
        (2, 1, 3),
        (3, 2, 1),
        (1, 3, 3),
    ];
    for (channels, outputs) in [(1, 1), (3, 32), (8, 8), (17, 33), (40, 24), (136, 16)] {
        add(conv1(outputs), channels, odd);
        add(conv3(outputs, Padding::Same), channels, &odd[..4]);
        add(conv3(outputs, Padding::Same), channels, tiny);
        add(conv3(outputs, Padding::Valid), channels, &odd[..3]);
        add(conv3(outputs, Padding::Valid), channels, &tiny[5..]);
        add(up(outputs), channels, &odd[..3]);
    }
    for channels in [2, 16, 24, 32, 64, 96, 128, 256] {
        add(
            conv3(channels, Padding::Same),
            channels,
            &[(1, 1, 1), (1, 4, 5)],
        );
        add(
            Layer::Dense { out_features: 10 },
            channels,
            &[(1, 1, 1), (33, 1, 1)],
        );
    }
    add(conv3(32, Padding::Same), 32, &[(1, 96, 80)]);
    add(conv3(8, Padding::Valid), 16, &[(2, 70, 61)]);
    cases
}

#[test]
fn odd_shapes_on_the_best_vectors() {
    let cases = cases();
    assert!(cases.len() > 150);
    for case in cases {
        check(&case, Isa::best());
    }
}

#[test]
fn other_vectors_change_no_bit() {
    let rectified = |isa, case: &Case| {
        let executor = Executor::new(&case.network(), case.shape(), isa, Precision::Bf16).unwrap();
        case.run(&executor)
    };
    for case in cases()
        .into_iter()
        .filter(|case| case.channels <= 40)
        .step_by(7)
    {
        let best = rectified(Isa::best(), &case);
        for isa in [Isa::Portable, Isa::Avx2] {
            if isa.is_present() && isa != Isa::best() {
                let other = rectified(isa, &case);
                let weights = best.parameters.len() - executor_outputs(&case);
                assert_eq!(best.output, other.output, "{isa}");
                assert_eq!(best.input, other.input, "{isa}");
                // Biases are summed in f32 by as many lanes as there are.
                assert_eq!(
                    best.parameters[..weights],
                    other.parameters[..weights],
                    "{isa}"
                );
            }
        }
    }
}

fn executor_outputs(case: &Case) -> usize {
    case.network().output_shape(case.shape()).unwrap().channels
}

#[test]
fn threads_change_no_bit() {
    let network = mist_kernels::network::Network::new(
        3,
        vec![
            conv1(16),
            conv3(24, Padding::Same),
            Layer::Norm,
            conv3(8, Padding::Valid),
            up(4),
        ],
    )
    .unwrap();
    let shape = mist_kernels::network::Shape::new(3, 90, 100);
    let executor = Executor::new(&network, shape, Isa::best(), Precision::Bf16).unwrap();
    let batch = 9;
    let parameters = numbers(4, network.parameter_count());
    let images = numbers(5, batch * shape.len());
    let cotangent = numbers(6, batch * executor.output_shape().len());
    let outcome = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| run(&executor, &parameters, &images, &cotangent))
    };
    let one = outcome(1);
    assert!(one == outcome(2) && one == outcome(4) && one == outcome(1));
}

#[test]
fn tiles_that_are_missing_are_an_error() {
    let case = Case {
        layer: conv1(8),
        batch: 1,
        channels: 8,
        height: 2,
        width: 2,
    };
    for precision in Precision::ALL {
        let executor = Executor::new(&case.network(), case.shape(), Isa::Amx, precision);
        match Isa::Amx.is_present() {
            true => assert!(executor.is_ok()),
            false => assert_eq!(
                executor.err(),
                Some(ExecutorError::Isa(IsaError::Absent(Isa::Amx)))
            ),
        }
    }
}
