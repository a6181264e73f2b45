//! Every method learns the same to the bit whether one, two or four ranks share its batches.

#![allow(
    missing_docs,
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod support;

use std::sync::Arc;
use std::thread;

use burn::tensor::{Device, Tensor, TensorData};
use mist::backbone::{Architecture, Backbone, FeatureExtractor, FeatureStatistics};
use mist::baselines::{CamConfig, SupervisedConfig, Xie20Config};
use mist::centres::CentresConfig;
use mist::geometry::{PixelBox, Truth};
use mist::lifted::LiftedConfig;
use mist::model::ModelConfig;
use mist::ranks::{Ranks, ThreadCommunicator};
use mist::training::{
    AdamConfig, Batch, LearnerState, Method, OptimiserConfig, Optimisers, Progress, Setup,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

const IMAGES: usize = 8;
const STEPS: u64 = 3;
const SIDE: usize = 32;
/// Of the features of MobileNetV2.
const CHANNELS: usize = 576;

/// Squares of two brightnesses in noise, three in each image; of features there are noisy maps of 4 x 5 cells.
fn batch(step: u64, channels: usize, has_features: bool, images: std::ops::Range<usize>) -> Batch {
    let device = Device::flex().autodiff();
    let (mut pixels, mut features) = (Vec::new(), Vec::new());
    let (mut counts, mut truths) = (Vec::new(), Vec::new());
    for image in images.clone() {
        let mut random = ChaCha8Rng::seed_from_u64(100 * step + image as u64);
        let noise = |random: &mut ChaCha8Rng| random.random::<f32>();
        let mut map: Vec<f32> = (0..SIDE * SIDE).map(|_| 0.1 * noise(&mut random)).collect();
        let mut count = vec![0, 0];
        let mut boxes = Vec::new();
        for _ in 0..3 {
            let label = random.random_range(0..2);
            let [left, top] = [0, 0].map(|_| random.random_range(0..SIDE - 6));
            for row in top..top + 6 {
                map[row * SIDE + left..][..6].fill([0.9, 0.5][label]);
            }
            count[label] += 1;
            let (x, y) = (left as f32 + 3.0, top as f32 + 3.0);
            let bounds = PixelBox::from_centre(x, y, 6.0, 6.0);
            boxes.push(Truth { bounds, label });
        }
        if has_features {
            features.extend((0..CHANNELS * 20).map(|_| noise(&mut random)));
            boxes.truncate(1 + image % 2);
            count = vec![1, 1, 0];
        }
        for _ in 0..channels {
            pixels.extend_from_slice(&map);
        }
        counts.push(count);
        truths.push(boxes);
    }
    let tensor =
        |values, shape: [usize; 4]| Tensor::<4>::from_data(TensorData::new(values, shape), &device);
    let count = images.len();
    Batch {
        images: tensor(pixels, [count, channels, SIDE, SIDE]),
        features: has_features.then(|| tensor(features, [count, CHANNELS, 4, 5])),
        class_counts: Some(counts),
        truths: Some(truths),
    }
}

/// What a rank has learned, and the losses that it reported.
fn learned(
    method: &dyn Method,
    model: &ModelConfig,
    features: Option<&FeatureExtractor>,
    ranks: &Ranks,
) -> (LearnerState, Vec<Vec<(String, f64)>>) {
    let optimiser = OptimiserConfig {
        adam: AdamConfig {
            learning_rate: 0.01,
            ..AdamConfig::default()
        },
        clip_norm: 1.0,
        ..OptimiserConfig::default()
    };
    let networks = method.networks().iter();
    let optimisers: Optimisers = networks.map(|name| (*name, optimiser)).collect();
    let mut learner = method
        .learner(Setup {
            model,
            optimisers: &optimisers,
            seed: 3,
            weights: None,
            features,
            device: &Device::flex().autodiff(),
            ranks,
        })
        .unwrap();
    let images = ranks.own_images(IMAGES).unwrap();
    let channels = if features.is_some() {
        3
    } else {
        model.image_channels()
    };
    let measured = (0..STEPS).map(|step| {
        let batch = batch(step, channels, features.is_some(), images.clone());
        let progress = Progress { step, steps: STEPS };
        let step = learner.step(&batch, progress).unwrap();
        let measured = step.measurements.iter();
        measured
            .map(|(name, value)| (name.to_string(), *value))
            .collect()
    });
    let measured = measured.collect();
    (learner.state().unwrap(), measured)
}

fn compare(method: &(dyn Method + Sync), model: &ModelConfig, features: Option<&FeatureExtractor>) {
    let alone = learned(method, model, features, &Ranks::default());
    assert_eq!(alone.0.non_finite(), None);
    for size in [2, 4] {
        let group = ThreadCommunicator::group(size);
        thread::scope(|scope| {
            let started: Vec<_> = group
                .into_iter()
                .map(|rank| {
                    scope.spawn(move || {
                        let ranks = Ranks::new(Arc::new(rank), Ranks::SHARDS).unwrap();
                        learned(method, model, features, &ranks)
                    })
                })
                .collect();
            for rank in started {
                let (state, measured) = rank.join().unwrap();
                assert_eq!(measured, alone.1, "{} on {size} ranks", method.name());
                assert!(state == alone.0, "{} on {size} ranks", method.name());
            }
        });
    }
}

fn model(scales: &[f32], style: &str, task: serde_json::Value) -> ModelConfig {
    // As many pixels as an encoder halves away.
    let patch_px = if task["classifier"].is_null() { 8 } else { 4 };
    serde_json::from_value(json!({
        "scales": scales,
        "detector": { "in_channels": 1, "channels": 4, "blocks": 1, "style": style },
        "extractor": { "instances": 3, "nms_window_px": 5 },
        "geometry": { "base_box_px": 8.0, "patch_px": patch_px },
        "task": task,
    }))
    .unwrap()
}

fn classifier() -> serde_json::Value {
    let encoder = json!({ "base_channels": 4, "levels": 2, "blocks_per_level": 1 });
    json!({ "classifier": { "classes": 2, "encoder": encoder } })
}

fn autoencoder() -> serde_json::Value {
    let encoder = json!({ "base_channels": 4, "levels": 2, "blocks_per_level": 1 });
    json!({ "autoencoder": { "encoder": encoder } })
}

fn lifted(config: serde_json::Value) -> LiftedConfig {
    serde_json::from_value(config).unwrap()
}

#[test]
fn exploration_with_jitter() {
    let config = lifted(json!({
        "order": "keypoints_first",
        "mean_distance": "relative_entropy",
        "keypoints": { "steps": 0 },
        "jitter": { "shift_px": 1.0, "scale_frac": 0.1, "rotation_rad": 0.2 },
        "exploration": {
            "release": { "plateau_steps": 1, "recent_steps": 1, "below_frac": 100.0 },
            "pool": { "drawn_sets": 1, "moved_sets": 2, "moved_px": 3.0 },
            "exchanges": { "limit": 4, "margin": 0.0, "moved_margin": 0.0 },
        },
    }));
    compare(&config, &model(&[1.0], "paper", classifier()), None);
}

#[test]
fn reconstruction_on_several_scales_with_statistics_of_the_batch() {
    let config = lifted(json!({ "keypoints": { "steps": 2, "learning_rate": 1.0 } }));
    compare(
        &config,
        &model(&[0.8, 1.25], "official", autoencoder()),
        None,
    );
}

#[test]
fn supervised_training() {
    let config = SupervisedConfig {
        jitter_shift_px: 1.0,
        jitter_rotation_rad: 0.1,
        ..SupervisedConfig::default()
    };
    compare(&config, &model(&[1.0], "official", classifier()), None);
}

#[test]
fn discs() {
    let mut model = model(&[1.0], "paper", autoencoder());
    model.detector.levels = 1;
    model.least_score = Some(0.4);
    compare(&CentresConfig::default(), &model, None);
}

#[test]
fn photographs() {
    let architecture: Architecture = serde_json::from_value("mobilenet_v2".into()).unwrap();
    let network = architecture.network().unwrap();
    let weights = support::backbone::weights("mobilenet_v2", &network);
    let extractor = FeatureExtractor {
        backbone: Backbone::new(architecture, &weights).unwrap(),
        statistics: FeatureStatistics::identity(CHANNELS),
    };
    let model: ModelConfig = serde_json::from_value(json!({
        "extractor": { "instances": 2, "nms_window_px": 3 },
        "geometry": { "base_box_px": 40.0, "patch_px": 7 },
        "task": { "feature_classifier": { "in_channels": CHANNELS, "channels": 8, "classes": 3 } },
        "backbone": { "architecture": "mobilenet_v2", "weights": "none", "head": { "hidden_channels": 8 } },
    }))
    .unwrap();
    let assigned = lifted(json!({
        "label_loss": "assigned",
        "keypoints": { "steps": 2, "learning_rate": 60.0, "max_step_px": 8.0 },
        "jitter": { "dropout_frac": 0.2 },
        "heatmap": { "loss": { "weighted_mean": { "sharpness": 1.0 } }, "weigh_keypoints": true },
    }));
    compare(&assigned, &model, Some(&extractor));
    compare(&Xie20Config::default(), &model, Some(&extractor));
    compare(&CamConfig::default(), &model, Some(&extractor));
    compare(&SupervisedConfig::default(), &model, Some(&extractor));
}
