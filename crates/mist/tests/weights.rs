//! Weights: starting values, files, running statistics.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use burn::tensor::{Device, Tensor};
use mist::Error;
use mist::networks::{DetectorConfig, InputStatistics, NetworkModule};
use mist_kernels::network::Network;

fn detector() -> Network {
    let config = DetectorConfig {
        channels: 4,
        blocks: 1,
        ..DetectorConfig::official()
    };
    config.network().unwrap()
}

fn values(module: &NetworkModule) -> Vec<f32> {
    module
        .parameters
        .val()
        .into_data()
        .try_to_vec::<f32>()
        .unwrap()
}

#[test]
fn a_seed_decides_the_starting_weights() {
    let device = Device::flex();
    let init = |seed| values(&NetworkModule::init(detector(), seed, &device).unwrap());
    assert_eq!(init(1), init(1));
    assert_ne!(init(1), init(2));
}

#[test]
fn weights_survive_safetensors_to_the_bit() {
    let device = Device::flex();
    let batch = Tensor::<4>::random([2, 3, 12, 9], burn::tensor::Distribution::Default, &device);
    let module = NetworkModule::init(detector(), 5, &device)
        .unwrap()
        .observe_input(batch.clone())
        .unwrap();
    let bytes = module.to_safetensors().unwrap();
    let again = NetworkModule::from_safetensors(detector(), &bytes, &device).unwrap();
    assert_eq!(values(&module), values(&again));
    let run = |module: &NetworkModule| {
        let output = module
            .forward(batch.clone(), InputStatistics::Running)
            .unwrap();
        output.into_data().try_to_vec::<f32>().unwrap()
    };
    assert_eq!(run(&module), run(&again));
    assert_eq!(again.to_safetensors().unwrap(), bytes);
}

#[test]
fn foreign_and_damaged_weights_are_refused() {
    let device = Device::flex();
    let bytes = NetworkModule::init(detector(), 5, &device)
        .unwrap()
        .to_safetensors()
        .unwrap();
    let other = DetectorConfig::paper(3).network().unwrap();
    assert!(NetworkModule::from_safetensors(other, &bytes, &device).is_err());
    for length in [0, 7, 100, bytes.len() - 1] {
        let result = NetworkModule::from_safetensors(detector(), &bytes[..length], &device);
        assert!(
            matches!(result, Err(Error::WeightsFormat(_))),
            "{length} bytes"
        );
    }
    let mut poisoned = bytes.clone();
    let end = poisoned.len();
    poisoned[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    let result = NetworkModule::from_safetensors(detector(), &poisoned, &device);
    assert!(matches!(result, Err(Error::NonFiniteTensor { .. })));
}

#[test]
fn running_statistics_approach_those_of_the_input() {
    let device = Device::flex();
    let batch = Tensor::<4>::full([4, 3, 12, 9], 0.25, &device);
    let mut module = NetworkModule::init(detector(), 5, &device).unwrap();
    for _ in 0..200 {
        module = module.observe_input(batch.clone()).unwrap();
    }
    let (mean, variance) = module.running_statistics();
    for value in mean.into_data().try_to_vec::<f32>().unwrap() {
        assert!((value - 0.25).abs() < 1e-5);
    }
    for value in variance.into_data().try_to_vec::<f32>().unwrap() {
        assert!(value.abs() < 1e-5);
    }
}

#[test]
fn too_small_images_are_an_error() {
    let device = Device::flex();
    let module = NetworkModule::init(detector(), 5, &device).unwrap();
    let pixel = Tensor::<4>::zeros([1, 3, 1, 1], &device);
    let result = module.forward(pixel, InputStatistics::Running);
    assert!(matches!(result, Err(Error::Network(_))));
}
