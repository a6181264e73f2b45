//! Descriptions and inputs of any size give a network, shapes and an executor, or an error that says what is too large.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use mist_kernels::executor::{Executor, ExecutorError};
use mist_kernels::network::{
    Layer, Network, NetworkError, NormPlacement, Padding, ResidualBlock, Shape,
};
use mist_kernels::simd::{Isa, Precision};

const SIZES: [usize; 8] = [0, 1, 7, 4096, 65_536, 65_537, 1 << 62, usize::MAX];

fn layers_of(size: usize) -> [Layer; 7] {
    let block = ResidualBlock {
        padding: Padding::Valid,
        norm: NormPlacement::Before,
        shared_norm: false,
    };
    [
        Layer::ReflectPad { px: size },
        Layer::Conv1x1 { out_channels: size },
        Layer::Conv3x3 {
            out_channels: size,
            padding: Padding::Same,
        },
        Layer::Residual(block),
        Layer::UpConv2 { out_channels: size },
        Layer::GlobalAveragePool,
        Layer::Dense { out_features: size },
    ]
}

#[test]
fn any_sizes_are_described_or_refused() {
    let (mut cases, mut described) = (0, 0);
    for in_channels in SIZES {
        for first in SIZES {
            for second in SIZES {
                let pairs = layers_of(first).into_iter().zip(layers_of(second));
                for (index, (first, second)) in pairs.enumerate() {
                    let layers = vec![first, layers_of(1)[index].clone(), second];
                    cases += 1;
                    let Ok(network) = Network::new(in_channels, layers) else {
                        continue;
                    };
                    described += 1;
                    assert!(network.parameter_count() <= Network::MAX_PARAMETERS);
                    for side in SIZES {
                        let input = Shape::new(in_channels, side, 9);
                        let Ok(shapes) = network.shapes(input) else {
                            continue;
                        };
                        assert!(shapes.iter().all(|s| s.len() <= Network::MAX_SAMPLE_VALUES));
                        network.multiplications(input).unwrap();
                    }
                }
            }
        }
    }
    assert!(cases > 1000 && described > 100, "{described} of {cases}");
}

fn too_large(result: Result<Network, NetworkError>) -> (String, u64, u64) {
    match result {
        Err(NetworkError::TooLarge {
            what,
            actual,
            limit,
        }) => (what, actual, limit),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_limits_are_sharp_and_named() {
    let conv = |out_channels| vec![Layer::Conv1x1 { out_channels }];
    assert!(Network::new(1, conv(65_536)).is_ok());
    assert_eq!(
        too_large(Network::new(1, conv(65_537))),
        ("channels of layer 0".to_owned(), 65_537, 65_536)
    );
    assert_eq!(
        too_large(Network::new(65_537, vec![])),
        ("channels of the input".to_owned(), 65_537, 65_536)
    );
    assert!(Network::new(1, vec![Layer::Relu; 4096]).is_ok());
    assert_eq!(
        too_large(Network::new(1, vec![Layer::Relu; 4097])),
        ("layers".to_owned(), 4097, 4096)
    );
    let pad = |px| vec![Layer::Relu, Layer::ReflectPad { px }];
    assert!(Network::new(1, pad(4096)).is_ok());
    assert_eq!(
        too_large(Network::new(1, pad(1 << 62))),
        ("padding of layer 1 in px".to_owned(), 1 << 62, 4096)
    );
    // 2^12 inputs for each of 2^16 outputs, and the biases.
    assert_eq!(
        too_large(Network::new(4096, conv(65_536))),
        ("parameters".to_owned(), (1 << 28) + 65_536, 1 << 28)
    );
}

#[test]
fn executors_refuse_inputs_without_end_and_without_pixels() {
    let up = Layer::UpConv2 {
        out_channels: 65_536,
    };
    let network = Network::new(1, vec![up]).unwrap();
    let executor = |height_px, width_px| {
        let input = Shape::new(1, height_px, width_px);
        Executor::new(&network, input, Isa::best(), Precision::F32).err()
    };
    assert_eq!(executor(2, 3), None);
    for (height_px, width_px) in [
        (usize::MAX, 1),
        (1 << 40, 1 << 40),
        (1 << 16, 1),
        (200, 200),
    ] {
        let error = executor(height_px, width_px);
        assert!(matches!(
            error,
            Some(ExecutorError::Network(NetworkError::TooLarge { .. }))
        ));
    }
    let empty = executor(0, 5);
    assert!(matches!(
        empty,
        Some(ExecutorError::Network(NetworkError::EmptyInput { .. }))
    ));
    let nothing = Network::new(1, vec![]).unwrap();
    let input = Shape::new(1, 0, 5);
    assert!(Executor::new(&nothing, input, Isa::best(), Precision::F32).is_err());
}
