//! A toy to train on: bright squares on black, two classes by brightness.

use burn::tensor::{Device, Tensor, TensorData};
use mist::extract::Extractor;
use mist::geometry::{PixelBox, Truth};
use mist::heatmap::{LocalSoftmax, ScaleLevels};
use mist::model::{ModelConfig, TaskNetwork};
use mist::networks::{BlockStyle, DetectorConfig, EncoderConfig, PatchValues};
use mist::sample::PatchGeometry;
use mist::training::{
    AdamConfig, Batch, Learner, OptimiserConfig, Optimisers, Progress, Schedule, Setup,
};

pub const SIDE: usize = 24;
pub const START: Progress = Progress { step: 0, steps: 1 };

/// Two squares per image, one bright and one dim, at places that depend on the image: value, left, top.
pub fn squares(image: usize) -> [(f32, usize, usize); 2] {
    [(1.0, 4 + image % 3, 5), (0.5, 15, 13 + image % 4)]
}

pub fn pixels(images: usize) -> Vec<f32> {
    let mut pixels = vec![0.0; images * SIDE * SIDE];
    for (image, map) in pixels.chunks_exact_mut(SIDE * SIDE).enumerate() {
        for (value, x, y) in squares(image) {
            for dy in 0..4 {
                for dx in 0..4 {
                    map[(y + dy) * SIDE + x + dx] = value;
                }
            }
        }
    }
    pixels
}

pub fn truths(images: usize) -> Vec<Vec<Truth>> {
    let truth = |(label, (_, left, top)): (usize, (f32, usize, usize))| Truth {
        bounds: PixelBox {
            x_min_px: left as f32 - 1.0,
            y_min_px: top as f32 - 1.0,
            x_max_px: left as f32 + 5.0,
            y_max_px: top as f32 + 5.0,
        },
        label,
    };
    let image = |image| squares(image).into_iter().enumerate().map(truth).collect();
    (0..images).map(image).collect()
}

pub fn images(count: usize, device: &Device) -> Tensor<4> {
    let data = TensorData::new(pixels(count), [count, 1, SIDE, SIDE]);
    Tensor::from_data(data, device)
}

pub fn batch(count: usize) -> Batch {
    Batch {
        features: None,
        images: images(count, &Device::flex().autodiff()),
        class_counts: Some(vec![vec![1, 1]; count]),
        truths: Some(truths(count)),
    }
}

pub fn encoder() -> EncoderConfig {
    EncoderConfig {
        in_channels: 1,
        base_channels: 4,
        levels: 3,
        blocks_per_level: 1,
        style: BlockStyle::Official,
        code_channels: None,
    }
}

pub fn model(task: TaskNetwork) -> ModelConfig {
    ModelConfig {
        background: 0.0,
        scales: ScaleLevels::lf_net(),
        detector: DetectorConfig {
            in_channels: 1,
            channels: 8,
            blocks: 2,
            levels: 0,
            style: BlockStyle::Paper,
        },
        softmax: LocalSoftmax {
            window_px: 7,
            ..LocalSoftmax::paper()
        },
        extractor: Extractor {
            mass_window_px: 3,
            ..Extractor::new(2)
        },
        geometry: PatchGeometry {
            base_box_px: 6.0,
            patch_px: 8,
            context_px: 0.0,
        },
        task,
        backbone: None,
        least_score: None,
    }
}

pub fn classifier() -> TaskNetwork {
    TaskNetwork::Classifier {
        encoder: encoder(),
        classes: 2,
    }
}

pub fn autoencoder() -> TaskNetwork {
    TaskNetwork::Autoencoder {
        encoder: encoder(),
        values: PatchValues::Unit,
    }
}

pub fn with_setup<T>(task: TaskNetwork, start: impl FnOnce(Setup<'_>) -> T) -> T {
    with_model(&model(task), &["detector", "task"], start)
}

pub fn with_model<T>(
    model: &ModelConfig,
    networks: &[&'static str],
    start: impl FnOnce(Setup<'_>) -> T,
) -> T {
    let optimiser = OptimiserConfig {
        adam: AdamConfig {
            learning_rate: 2e-3,
            ..AdamConfig::default()
        },
        clip_norm: 10.0,
        ema_decay: 0.9,
        schedule: Schedule::default(),
    };
    let optimisers: Optimisers = networks.iter().map(|&name| (name, optimiser)).collect();
    start(Setup {
        features: None,
        model,
        optimisers: &optimisers,
        seed: 1,
        weights: None,
        device: &Device::flex().autodiff(),
    })
}

pub fn train(learner: &mut dyn Learner, steps: usize) -> Vec<f64> {
    let step = |_| {
        let step = learner.step(&batch(6), START).unwrap();
        assert_eq!(step.measurements.non_finite(), None);
        step.measurements.get("task_loss").unwrap()
    };
    (0..steps).map(step).collect()
}

pub fn bytes(learner: &dyn Learner) -> Vec<u8> {
    learner.state().unwrap().to_bytes(9).unwrap()
}
