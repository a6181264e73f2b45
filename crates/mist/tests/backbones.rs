//! Backbones beside torchvision's, on weights that both compute by the same rule (`python/golden/backbones.py`).

#![allow(
    missing_docs,
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod support;

use burn::tensor::{Device, Tensor, TensorData};
use mist::Error;
use mist::backbone::{Architecture, Backbone, NamedWeights};
use mist_kernels::network::{Network, ParameterSpec};
use support::family;

/// The checksum of zlib, bit by bit.
fn crc32(text: &str) -> u64 {
    let mut sum = u32::MAX;
    for byte in text.bytes() {
        sum ^= u32::from(byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 {
                sum >> 1 ^ 0xEDB8_8320
            } else {
                sum >> 1
            };
        }
    }
    u64::from(!sum)
}

/// `python/golden/pseudo.py`: splitmix64 of index and label, its top 24 bits as a number in [-1, 1).
fn pseudo(label: &str, count: usize, scale: f64, shift: f64) -> Vec<f32> {
    let salt = crc32(label) << 32;
    let value = |index: u64| {
        let mut z = (index + salt).wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        let unit = 2.0 * ((z >> 40) as f64 / f64::from(1 << 24)) - 1.0;
        (shift + scale * unit) as f32
    };
    (0..count as u64).map(value).collect()
}

/// Names of torchvision's convolutions and norms, in the order of our parameters.
fn names(architecture: &str) -> Vec<(String, String)> {
    let pair = |conv: &str, norm: &str| (conv.to_owned(), norm.to_owned());
    let mut names = Vec::new();
    if architecture == "mobilenet_v2" {
        names.push(pair("features.0.0", "features.0.1"));
        for block in 1..=13 {
            let groups = if block == 1 { 1 } else { 2 };
            for group in 0..groups {
                let conv = format!("features.{block}.conv.{group}");
                names.push((format!("{conv}.0"), format!("{conv}.1")));
            }
            let conv = format!("features.{block}.conv");
            names.push((format!("{conv}.{groups}"), format!("{conv}.{}", groups + 1)));
        }
        names.push(pair("features.14.conv.0.0", "features.14.conv.0.1"));
        return names;
    }
    let blocks = if architecture == "resnet18" {
        [2, 2, 2]
    } else {
        [3, 4, 6]
    };
    names.push(pair("conv1", "bn1"));
    for (stage, blocks) in blocks.into_iter().enumerate() {
        for block in 0..blocks {
            let within = format!("layer{}.{block}", stage + 1);
            for number in 1..=2 {
                names.push((
                    format!("{within}.conv{number}"),
                    format!("{within}.bn{number}"),
                ));
            }
            if stage > 0 && block == 0 {
                let down = format!("{within}.downsample");
                names.push((format!("{down}.0"), format!("{down}.1")));
            }
        }
    }
    names
}

fn weights(architecture: &str, network: &Network) -> NamedWeights {
    let specs: Vec<ParameterSpec> = network.parameters();
    let names = names(architecture);
    assert_eq!(specs.len(), 2 * names.len());
    let mut weights = NamedWeights::default();
    for ((conv, norm), pair) in names.into_iter().zip(specs.chunks_exact(2)) {
        let shape = pair[0].shape.clone();
        let inputs: usize = shape[1..].iter().product();
        let mut insert = |name: String, shape: Vec<usize>, scale: f64, shift: f64| {
            let count = shape.iter().product();
            let values = pseudo(&format!("{architecture}/{name}"), count, scale, shift);
            weights.insert(name, shape, values);
        };
        let channels = vec![shape[0]];
        insert(
            format!("{conv}.weight"),
            shape,
            (3.0 / inputs as f64).sqrt(),
            0.0,
        );
        for (part, scale, shift) in [
            ("weight", 0.25, 1.0),
            ("bias", 0.1, 0.0),
            ("running_mean", 0.1, 0.0),
            ("running_var", 0.5, 1.0),
        ] {
            insert(format!("{norm}.{part}"), channels.clone(), scale, shift);
        }
    }
    weights
}

fn architecture(name: &str) -> Architecture {
    serde_json::from_value(name.into()).unwrap()
}

#[test]
fn features_are_those_of_torchvision() {
    let device = Device::flex();
    for golden in family("backbone_", 3) {
        let name = golden.case["architecture"].as_str().unwrap().to_owned();
        let architecture = architecture(&name);
        let network = architecture.network().unwrap();
        let backbone = Backbone::new(architecture, &weights(&name, &network)).unwrap();
        let image = pseudo(&format!("{name}/image"), 2 * 3 * 72 * 104, 0.5, 0.5);
        let image = Tensor::<4>::from_data(TensorData::new(image, [2, 3, 72, 104]), &device);
        let features = backbone.features(image).unwrap();
        let shape: Vec<f32> = features.dims().map(|side| side as f32).to_vec();
        assert_eq!(golden.values("shape"), shape);
        let every = golden.number("every") as usize;
        let found = features.try_into_vec_as::<f32>().unwrap();
        let expected = golden.values("sampled");
        let largest = expected
            .iter()
            .fold(0f32, |most, value| most.max(value.abs()));
        for (place, expected) in expected.iter().enumerate() {
            let found = found[place * every];
            assert!(
                (found - expected).abs() <= 1e-4 * largest.max(1.0),
                "{name}[{place}]: {found} instead of {expected}"
            );
        }
    }
}

#[test]
fn weights_that_do_not_belong_there_are_named() {
    let architecture = Architecture::ResNet18;
    let network = architecture.network().unwrap();
    let right = weights("resnet18", &network);
    let mut wrong = right.clone();
    wrong.insert("layer2.0.conv1.weight".to_owned(), vec![1], vec![0.0]);
    let error = Backbone::new(architecture, &wrong).unwrap_err();
    assert!(matches!(&error, Error::TensorShape { name, .. } if name == "layer2.0.conv1.weight"));
    let mut wrong = right.clone();
    wrong.insert("bn1.running_var".to_owned(), vec![64], vec![f32::NAN; 64]);
    let error = Backbone::new(architecture, &wrong).unwrap_err();
    assert!(matches!(&error, Error::NonFiniteTensor { name } if name == "bn1.running_var"));
    let error = Backbone::new(Architecture::ResNet34, &right).unwrap_err();
    assert!(matches!(&error, Error::MissingTensor { name } if name.starts_with("layer1.2")));
    let error = Backbone::new(Architecture::MobileNetV2, &right).unwrap_err();
    assert!(matches!(&error, Error::MissingTensor { name } if name == "features.0.0.weight"));
}

/// Weights whose norms were folded before have a bias beside the weight, and give the same features.
#[test]
fn folded_weights_are_read_as_they_are() {
    let architecture = Architecture::ResNet18;
    let network = architecture.network().unwrap();
    let mut folded = NamedWeights::default();
    for ((conv, _), pair) in names("resnet18")
        .into_iter()
        .zip(network.parameters().chunks_exact(2))
    {
        let count = pair[0].len();
        let values = pseudo(&conv, count, 0.01, 0.0);
        folded.insert(format!("{conv}.weight"), pair[0].shape.clone(), values);
        let bias = pseudo(&conv, pair[1].len(), 0.1, 0.0);
        folded.insert(format!("{conv}.bias"), pair[1].shape.clone(), bias);
    }
    let backbone = Backbone::new(architecture, &folded).unwrap();
    let image = Tensor::<4>::full([1, 3, 32, 32], 0.5, &Device::flex());
    assert_eq!(backbone.features(image).unwrap().dims(), [1, 256, 2, 2]);
    let gray = Tensor::<4>::zeros([1, 1, 32, 32], &Device::flex());
    assert!(backbone.features(gray).is_err());
}
