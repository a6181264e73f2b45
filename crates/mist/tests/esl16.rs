//! Attend, infer, repeat: its parts against PyTorch, and a short training.

#![allow(
    missing_docs,
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod support;

use burn::tensor::{Device, Tensor, TensorData};
use mist::baselines::{Esl16Config, binary_concrete_kl, gaussian_kl, lstm_cell};
use mist::model::{ModelConfig, TaskNetwork};
use mist::networks::{EncoderConfig, PatchValues};
use mist::training::{
    AdamConfig, Batch, Learner, Method, OptimiserConfig, Optimisers, Progress, Setup,
};
use support::{contract, family};

const SIDE: usize = 20;
const STEPS: u64 = 300;

#[test]
fn a_cell_of_the_recurrent_network() {
    let device = Device::flex().autodiff();
    for golden in family("esl16_lstm", 1) {
        let gates = golden.leaf::<2>("gates", &device);
        let cell = golden.leaf::<2>("cell", &device);
        let (hidden, new_cell) = lstm_cell(gates.clone(), cell.clone());
        let output = Tensor::cat(vec![hidden, new_cell], 1);
        golden.expect("output", output.clone());
        let gradients = contract(output, golden.tensor("cotangent", &device)).backward();
        golden.expect("grad_gates", gates.grad(&gradients).unwrap());
        golden.expect("grad_cell", cell.grad(&gradients).unwrap());
    }
}

#[test]
fn divergences_of_gaussians() {
    let device = Device::flex().autodiff();
    for golden in family("esl16_gaussian_kl", 1) {
        let mean = golden.leaf::<2>("mean", &device);
        let log_variance = golden.leaf::<2>("log_variance", &device);
        let prior = [golden.number("prior_mean"), golden.number("prior_variance")];
        let [prior_mean, prior_variance] = prior.map(|number| number as f32);
        let output = gaussian_kl(
            mean.clone(),
            log_variance.clone(),
            prior_mean,
            prior_variance,
        );
        golden.expect("output", output.clone());
        let gradients = contract(output, golden.tensor("cotangent", &device)).backward();
        golden.expect("grad_mean", mean.grad(&gradients).unwrap());
        golden.expect("grad_log_variance", log_variance.grad(&gradients).unwrap());
    }
}

#[test]
fn divergences_of_relaxed_presences() {
    let device = Device::flex().autodiff();
    for golden in family("esl16_concrete_kl", 2) {
        let logits = golden.leaf::<2>("logits", &device);
        let log_odds = golden.leaf::<2>("log_odds", &device);
        let output = binary_concrete_kl(
            logits.clone(),
            log_odds.clone(),
            golden.number("prior_log_odds") as f32,
            golden.number("temperature") as f32,
        );
        golden.expect("output", output.clone());
        let gradients = contract(output, golden.tensor("cotangent", &device)).backward();
        golden.expect("grad_logits", logits.grad(&gradients).unwrap());
        golden.expect("grad_log_odds", log_odds.grad(&gradients).unwrap());
    }
}

/// A bright square in each image, at a place that depends on the image.
fn batch(images: usize) -> Batch {
    let mut pixels = vec![0.0_f32; images * SIDE * SIDE];
    for (image, map) in pixels.chunks_exact_mut(SIDE * SIDE).enumerate() {
        let (left, top) = (3 + 5 * (image % 3), 2 + 4 * (image % 4));
        for y in top..top + 5 {
            map[y * SIDE + left..][..5].fill(1.0);
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
    let config = Esl16Config {
        canvas_px: SIDE,
        lstm_units: 16,
        head_units: 8,
        code_units: 4,
        ..Esl16Config::default()
    };
    let mut model = ModelConfig::paper(TaskNetwork::Autoencoder {
        encoder: EncoderConfig::default(),
        values: PatchValues::Unit,
    });
    model.geometry.patch_px = 8;
    model.extractor.instances = 2;
    let optimiser = OptimiserConfig {
        adam: AdamConfig {
            learning_rate: 3e-3,
            ..AdamConfig::default()
        },
        clip_norm: 1.0,
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
    let batch = batch(8);
    let loss = |step| {
        let progress = Progress { step, steps: STEPS };
        let report = learner.step(&batch, progress).unwrap();
        report.measurements.get("task_loss").unwrap()
    };
    steps.map(loss).collect()
}

#[test]
fn a_training_lowers_the_bound_and_resumes_to_the_bit() {
    let mut whole = learner();
    let losses = run(&mut *whole, 0..STEPS);
    let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
    let (first, last) = (mean(&losses[..5]), mean(&losses[losses.len() - 5..]));
    assert!(last < 0.7 * first, "from {first} to {last}");

    let mut half = learner();
    run(&mut *half, 0..STEPS / 2);
    let mut resumed = learner();
    resumed.restore(half.state().unwrap()).unwrap();
    run(&mut *resumed, STEPS / 2..STEPS);
    assert_eq!(whole.state().unwrap(), resumed.state().unwrap());
}

#[test]
fn what_it_finds_survives_its_weights_file_and_unequal_counts_are_redrawn() {
    let device = Device::flex();
    let mut learner = learner();
    run(&mut *learner, 0..3);
    let finder = learner.finder(&device).unwrap();
    let images = batch(3).images.inner();
    let found = finder.find(images.clone(), &[2, 1, 0]).unwrap();
    let counts: Vec<usize> = found.iter().map(Vec::len).collect();
    assert!(counts[0] <= 2 && counts[1] <= 1 && counts[2] == 0);
    let redrawn = finder.redraw(images.clone(), &found).unwrap().unwrap();
    assert_eq!(redrawn.dims(), images.dims());
    let wrong = Tensor::zeros([1, 1, SIDE + 1, SIDE], &device);
    let message = finder.find(wrong, &[1]).unwrap_err().to_string();
    assert!(message.contains("canvas_px"), "{message}");
}
