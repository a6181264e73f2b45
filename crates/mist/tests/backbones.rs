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
use support::backbone::{names, pseudo, weights};
use support::family;

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
