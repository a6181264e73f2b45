//! Unsupervised landmarks: their parts against PyTorch and SciPy, and a short training.

#![allow(
    missing_docs,
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod support;

use burn::tensor::{Device, Tensor, TensorData};
use mist::baselines::{Landmarks, ThinPlates, Zha18Config, gaussian_maps, separation_loss};
use mist::model::{ModelConfig, TaskNetwork};
use mist::networks::{EncoderConfig, PatchValues};
use mist::training::{
    AdamConfig, Batch, Learner, Method, OptimiserConfig, Optimisers, Progress, Setup,
};
use support::{contract, family};

const SIDE: usize = 14;
const STEPS: u64 = 40;

#[test]
fn landmarks_are_moments() {
    let device = Device::flex().autodiff();
    for golden in family("zha18_landmarks", 1) {
        let responses = golden.leaf::<4>("responses", &device);
        let Landmarks {
            places, variances, ..
        } = Landmarks::of(responses.clone());
        let [batch, count] = variances.dims();
        let output = Tensor::cat(vec![places, variances.reshape([batch, count, 1])], 2);
        golden.expect("output", output.clone());
        let gradients = contract(output, golden.tensor("cotangent", &device)).backward();
        golden.expect("grad_responses", responses.grad(&gradients).unwrap());
    }
}

#[test]
fn landmarks_keep_apart() {
    let device = Device::flex().autodiff();
    for golden in family("zha18_separation", 1) {
        let places = golden.leaf::<3>("places", &device);
        let output = separation_loss(places.clone(), golden.number("deviation") as f32);
        golden.expect("output", output.clone());
        let gradients = contract(output, golden.tensor("cotangent", &device)).backward();
        golden.expect("grad_places", places.grad(&gradients).unwrap());
    }
}

#[test]
fn maps_of_the_decoder() {
    let device = Device::flex().autodiff();
    for golden in family("zha18_gaussian_maps", 1) {
        let places = golden.leaf::<3>("places", &device);
        let [height, width] = ["height", "width"].map(|side| golden.number(side) as usize);
        let deviation = golden.number("deviation") as f32;
        let output = gaussian_maps(places.clone(), deviation, height, width);
        golden.expect("output", output.clone());
        let gradients = contract(output, golden.tensor("cotangent", &device)).backward();
        golden.expect("grad_places", places.grad(&gradients).unwrap());
    }
}

#[test]
fn thin_plates() {
    for golden in family("zha18_thin_plates", 1) {
        let warp = ThinPlates::new(8).through(golden.values("values"));
        golden.expect("output", warp.map(golden.tensor("points", &Device::flex())));
    }
}

/// Two squares in each image, at places that depend on the image.
fn batch(images: usize) -> Batch {
    let mut pixels = vec![0.0_f32; images * SIDE * SIDE];
    for (image, map) in pixels.chunks_exact_mut(SIDE * SIDE).enumerate() {
        for (left, top) in [(1 + image % 3, 2), (8 + image % 2, 7 + image % 3)] {
            for y in top..top + 4 {
                map[y * SIDE + left..][..4].fill(1.0);
            }
        }
    }
    let data = TensorData::new(pixels, [images, 1, SIDE, SIDE]);
    Batch {
        images: Tensor::from_data(data, &Device::flex().autodiff()),
        features: None,
        class_counts: None,
        truths: None,
    }
}

fn learner() -> Box<dyn Learner> {
    let config = Zha18Config {
        canvas_px: 16,
        ..Zha18Config::default()
    };
    let mut model = ModelConfig::paper(TaskNetwork::Autoencoder {
        encoder: EncoderConfig::default(),
        values: PatchValues::Unit,
    });
    model.extractor.instances = 2;
    let optimiser = OptimiserConfig {
        adam: AdamConfig {
            learning_rate: 1e-3,
            ..AdamConfig::default()
        },
        ..OptimiserConfig::default()
    };
    let named = config.networks().iter().map(|&name| (name, optimiser));
    let optimisers: Optimisers = named.collect();
    let learner = config.learner(Setup {
        model: &model,
        optimisers: &optimisers,
        seed: 3,
        weights: None,
        features: None,
        device: &Device::flex().autodiff(),
    });
    learner.unwrap()
}

fn run(learner: &mut dyn Learner, steps: std::ops::Range<u64>) -> Vec<f64> {
    let batch = batch(6);
    let loss = |step| {
        let progress = Progress { step, steps: STEPS };
        let report = learner.step(&batch, progress).unwrap();
        report.measurements.get("task_loss").unwrap()
    };
    steps.map(loss).collect()
}

#[test]
fn a_training_lowers_the_loss_and_resumes_to_the_bit() {
    let mut whole = learner();
    let losses = run(&mut *whole, 0..STEPS);
    let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
    let (first, last) = (mean(&losses[..5]), mean(&losses[losses.len() - 5..]));
    assert!(last < 0.8 * first, "from {first} to {last}");

    let mut half = learner();
    run(&mut *half, 0..STEPS / 2);
    let mut resumed = learner();
    resumed.restore(half.state().unwrap()).unwrap();
    run(&mut *resumed, STEPS / 2..STEPS);
    assert_eq!(whole.state().unwrap(), resumed.state().unwrap());
}

#[test]
fn as_many_landmarks_as_asked_for_in_pixels_of_the_image() {
    let device = Device::flex();
    let finder = learner().finder(&device).unwrap();
    let images = batch(3).images.inner();
    let found = finder.find(images.clone(), &[2, 1, 0]).unwrap();
    let counts: Vec<usize> = found.iter().map(Vec::len).collect();
    assert_eq!(counts, [2, 1, 0]);
    for detection in &found[0] {
        let (x_px, y_px) = detection.bounds.centre_px();
        assert!((-1.0..15.0).contains(&x_px) && (-1.0..15.0).contains(&y_px));
    }
    let redrawn = finder.redraw(images.clone(), &found).unwrap().unwrap();
    assert_eq!(redrawn.dims(), images.dims());
    let wide = Tensor::zeros([1, 1, 8, 17], &device);
    let message = finder.find(wide, &[1]).unwrap_err().to_string();
    assert!(message.contains("canvas_px"), "{message}");
}
