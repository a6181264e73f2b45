//! Settings of any size describe a network or are refused: never a panic, an abort or an endless loop.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use mist::networks::{
    BlockStyle, DetectorConfig, EncoderConfig, PatchValues, autoencoder, classifier,
};
use mist_kernels::network::{Network, NetworkError, Shape};

const STYLES: [BlockStyle; 2] = [BlockStyle::Paper, BlockStyle::Official];
const SIZES: [usize; 9] = [
    0,
    1,
    3,
    1000,
    65_536,
    65_537,
    1_000_000_000,
    1 << 62,
    usize::MAX,
];

/// What a description may do: be refused, or stay within the limits for inputs of any size.
fn check(described: Result<Network, NetworkError>) -> bool {
    let Ok(network) = described else {
        return false;
    };
    assert!(network.layers().len() <= Network::MAX_LAYERS);
    assert!(network.parameter_count() <= Network::MAX_PARAMETERS);
    let specs = network.parameters();
    let values: usize = specs.iter().map(|spec| spec.len()).sum();
    assert_eq!(values, network.parameter_count());
    for side in [0, 1, 32, 5000, 1 << 20, 1 << 40, usize::MAX] {
        let input = Shape::new(network.in_channels(), side, side);
        if let Ok(shapes) = network.shapes(input) {
            let fits = |shape: &Shape| shape.len() <= Network::MAX_SAMPLE_VALUES;
            assert!(shapes.iter().all(fits));
            network.multiplications(input).unwrap();
        }
    }
    true
}

#[test]
fn detectors_of_any_size() {
    let (mut cases, mut described) = (0, 0);
    for channels in SIZES {
        for blocks in SIZES {
            for in_channels in [0, 1, 65_536, usize::MAX] {
                for style in STYLES {
                    let config = DetectorConfig {
                        in_channels,
                        channels,
                        blocks,
                        levels: 0,
                        style,
                    };
                    cases += 1;
                    described += usize::from(check(config.network()));
                }
            }
        }
    }
    assert!(cases > 500 && described > 20, "{described} of {cases}");
}

#[test]
fn encoders_of_any_size() {
    let (mut cases, mut described) = (0, 0);
    for base_channels in SIZES {
        for levels in [0, 1, 5, 16, 17, 31, 32, 64, u32::MAX] {
            for blocks_per_level in [0, 2, 64, 1 << 40, usize::MAX] {
                for code_channels in [None, Some(0), Some(usize::MAX)] {
                    for style in STYLES {
                        let encoder = EncoderConfig {
                            in_channels: 1,
                            base_channels,
                            levels,
                            blocks_per_level,
                            style,
                            code_channels,
                        };
                        cases += 2;
                        described += usize::from(check(classifier(&encoder, 10)));
                        described += usize::from(check(autoencoder(&encoder, PatchValues::Unit)));
                    }
                }
            }
        }
    }
    assert!(cases > 500 && described > 20, "{described} of {cases}");
}

#[test]
fn the_setting_that_is_too_large_is_named() {
    let detector = |change: fn(&mut DetectorConfig)| {
        let mut config = DetectorConfig::paper(1);
        change(&mut config);
        config.network()
    };
    let encoder = |change: fn(&mut EncoderConfig)| {
        let mut config = EncoderConfig::paper(1);
        change(&mut config);
        classifier(&config, 10)
    };
    let cases = [
        ("`channels`", detector(|c| c.channels = 1_000_000_000)),
        ("`blocks`", detector(|c| c.blocks = 1_000_000_000)),
        ("`in_channels`", detector(|c| c.in_channels = usize::MAX)),
        ("parameters", detector(|c| c.channels = 65_536)),
        ("`levels`", encoder(|c| c.levels = 64)),
        ("`base_channels`", encoder(|c| c.base_channels = 1 << 63)),
        ("`base_channels`", encoder(|c| c.levels = 16)),
        ("`blocks_per_level`", encoder(|c| c.blocks_per_level = 65)),
        (
            "`code_channels`",
            encoder(|c| c.code_channels = Some(1 << 62)),
        ),
        ("`classes`", classifier(&EncoderConfig::paper(1), 1 << 63)),
    ];
    for (name, result) in cases {
        let error = result.unwrap_err();
        assert!(matches!(error, NetworkError::TooLarge { .. }), "{error}");
        assert!(error.to_string().starts_with(name), "{name}: {error}");
    }
}
