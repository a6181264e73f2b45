//! The lifted optimisation on a toy: bright squares on black, two classes by brightness.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use burn::tensor::{Device, Tensor, TensorData};
use mist::detect::Detector;
use mist::extract::Extractor;
use mist::heatmap::{HeatmapNetwork, LocalSoftmax, ScaleLevels};
use mist::lifted::{
    AdamConfig, Classification, HeatmapLoss, Lifted, LiftedConfig, Reconstruction, StageOrder,
};
use mist::networks::{
    BlockStyle, DetectorConfig, EncoderConfig, NetworkModule, autoencoder, classifier,
};
use mist::sample::PatchGeometry;

const SIDE: usize = 24;

/// Two squares per image, one bright and one dim, at places that depend on the image.
fn batch(images: usize) -> Vec<f32> {
    let mut pixels = vec![0.0; images * SIDE * SIDE];
    for (image, map) in pixels.chunks_exact_mut(SIDE * SIDE).enumerate() {
        for (value, x, y) in [(1.0, 4 + image % 3, 5), (0.5, 15, 13 + image % 4)] {
            for dy in 0..4 {
                for dx in 0..4 {
                    map[(y + dy) * SIDE + x + dx] = value;
                }
            }
        }
    }
    pixels
}

fn config(order: StageOrder) -> LiftedConfig {
    LiftedConfig {
        extractor: Extractor {
            instances: 2,
            nms_window_px: 5,
        },
        geometry: PatchGeometry {
            base_box_px: 6.0,
            patch_px: 8,
        },
        order,
        keypoint_steps: 1,
        keypoint_rate: 2.0,
        moves_scale: true,
        lambda: 0.01,
        task_loss_factor: 1.0,
        heatmap_loss: HeatmapLoss::Sum,
        task_adam: AdamConfig {
            rate: 2e-3,
            ..AdamConfig::default()
        },
        detector_adam: AdamConfig {
            rate: 2e-3,
            ..AdamConfig::default()
        },
    }
}

fn encoder() -> EncoderConfig {
    EncoderConfig {
        in_channels: 1,
        base_channels: 4,
        levels: 3,
        blocks_per_level: 1,
        style: BlockStyle::Official,
    }
}

fn lifted(task: NetworkModule, order: StageOrder, device: &Device) -> Lifted {
    let detector = DetectorConfig {
        in_channels: 1,
        channels: 8,
        blocks: 2,
        style: BlockStyle::Paper,
    };
    let detector = NetworkModule::init(detector.network().unwrap(), 1, device).unwrap();
    let softmax = LocalSoftmax {
        window_px: 7,
        ..LocalSoftmax::paper()
    };
    let heatmap = HeatmapNetwork::new(detector, ScaleLevels::lf_net(), softmax).unwrap();
    Lifted::new(heatmap, task, config(order))
}

fn weights(lifted: &Lifted) -> Vec<f32> {
    let host = |module: &NetworkModule| {
        module
            .parameters
            .val()
            .into_data()
            .try_to_vec::<f32>()
            .unwrap()
    };
    [host(&lifted.heatmap.detector), host(&lifted.task)].concat()
}

fn classify(order: StageOrder, steps: usize) -> (Lifted, Vec<f32>) {
    let device = Device::flex().autodiff();
    let network = classifier(&encoder(), 2).unwrap();
    let task = NetworkModule::init(network, 2, &device).unwrap();
    let mut lifted = lifted(task, order, &device);
    let images = Tensor::<4>::from_data(TensorData::new(batch(6), [6, 1, SIDE, SIDE]), &device);
    let mean_labels = Tensor::<2>::full([6, 2], 0.5, &device);
    let task = Classification { mean_labels };
    let losses = (0..steps).map(|_| lifted.step(images.clone(), &task).unwrap().task_loss);
    let losses = losses.collect();
    (lifted, losses)
}

#[test]
fn both_orders_learn_and_repeat_to_the_bit() {
    for order in [StageOrder::TaskFirst, StageOrder::KeypointsFirst] {
        let (first, losses) = classify(order, 40);
        assert!(losses.iter().all(|loss| loss.is_finite()));
        let (early, late) = (losses[0], losses[39]);
        assert!(late < 0.5 * early.max(1e-3), "{order:?}: {early} to {late}");
        let (second, _) = classify(order, 40);
        assert_eq!(weights(&first), weights(&second));
    }
}

#[test]
fn reconstruction_learns_through_the_same_loop() {
    let device = Device::flex().autodiff();
    let task = NetworkModule::init(autoencoder(&encoder()).unwrap(), 2, &device).unwrap();
    let mut lifted = lifted(task, StageOrder::TaskFirst, &device);
    let images = Tensor::<4>::from_data(TensorData::new(batch(6), [6, 1, SIDE, SIDE]), &device);
    let task = Reconstruction {
        images: images.clone(),
        geometry: config(StageOrder::TaskFirst).geometry,
    };
    let losses: Vec<f32> = (0..60)
        .map(|_| lifted.step(images.clone(), &task).unwrap().task_loss)
        .collect();
    assert!(
        losses[59] < 0.75 * losses[0],
        "{} to {}",
        losses[0],
        losses[59]
    );
}

#[test]
fn detection_gives_k_boxes_per_image() {
    let (lifted, _) = classify(StageOrder::TaskFirst, 1);
    let settings = config(StageOrder::TaskFirst);
    let detector = Detector {
        heatmap: lifted.heatmap,
        classifier: lifted.task,
        extractor: settings.extractor,
        geometry: settings.geometry,
    };
    let data = TensorData::new(batch(3), [3, 1, SIDE, SIDE]);
    let found = detector
        .detect(Tensor::from_data(data, &Device::flex()))
        .unwrap();
    assert_eq!(found.len(), 3);
    for image in found {
        assert_eq!(image.len(), 2);
        assert!(image[0].score >= image[1].score);
        assert!(image.iter().all(|found| found.label < 2));
    }
}
