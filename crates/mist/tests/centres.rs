//! Models that learn from discs: what they find, and that windows give what the whole image gives.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use burn::tensor::{Device, Tensor, TensorData};
use mist::centres::CentresConfig;
use mist::extract::Selection;
use mist::large::{ImageView, LargeSearch};
use mist::model::{ModelConfig, TaskNetwork};
use mist::networks::{DetectorConfig, EncoderConfig, PatchValues};
use mist::ranks::Ranks;
use mist::training::{
    AdamConfig, Batch, Learner, Method, OptimiserConfig, Optimisers, Progress, Setup,
};

fn model() -> ModelConfig {
    let encoder = EncoderConfig {
        base_channels: 4,
        levels: 2,
        blocks_per_level: 1,
        code_channels: Some(4),
        ..EncoderConfig::paper(1)
    };
    let mut model = ModelConfig::paper(TaskNetwork::Autoencoder {
        encoder,
        values: PatchValues::Unit,
    });
    model.detector = DetectorConfig {
        channels: 8,
        blocks: 1,
        levels: 2,
        ..DetectorConfig::paper(1)
    };
    model.geometry.patch_px = 8;
    model.least_score = Some(0.4);
    model
}

/// Discs of brightness .5 on black.
fn image(discs: &[(f32, f32, f32)], width: usize, height: usize) -> Vec<f32> {
    let pixel = |place: usize| {
        let (x, y) = ((place % width) as f32 + 0.5, (place / width) as f32 + 0.5);
        let inside = |disc: &(f32, f32, f32)| (x - disc.0).hypot(y - disc.1) < disc.2;
        if discs.iter().any(inside) { 0.5 } else { 0.0 }
    };
    (0..width * height).map(pixel).collect()
}

fn tensor(values: Vec<f32>, shape: [usize; 4], device: &Device) -> Tensor<4> {
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn learner(device: &Device) -> Box<dyn Learner> {
    let optimiser = OptimiserConfig {
        adam: AdamConfig {
            learning_rate: 0.005,
            ..AdamConfig::default()
        },
        ..OptimiserConfig::default()
    };
    let optimisers: Optimisers = ["detector", "task"]
        .map(|name| (name, optimiser))
        .into_iter()
        .collect();
    let setup = Setup {
        model: &model(),
        optimisers: &optimisers,
        seed: 1,
        weights: None,
        features: None,
        device,
        ranks: &Ranks::default(),
    };
    CentresConfig::default().learner(setup).unwrap()
}

const TRUTH: [(f32, f32, f32); 3] = [(14.0, 14.0, 9.0), (40.0, 18.0, 5.0), (24.0, 44.0, 7.0)];

fn batch(device: &Device) -> Batch {
    let pixels = image(&TRUTH, 56, 56).repeat(2);
    Batch {
        features: None,
        images: tensor(pixels, [2, 1, 56, 56], device),
        class_counts: None,
        truths: None,
    }
}

fn progress(step: u64) -> Progress {
    Progress { step, steps: 250 }
}

#[test]
fn objects_of_several_sizes_are_learned_counted_and_sized() {
    let device = Device::flex().autodiff();
    let mut learner = learner(&device);
    let batch = batch(&device);
    for step in 0..250 {
        learner.step(&batch, progress(step)).unwrap();
    }
    let finder = learner.finder(&Device::flex()).unwrap();
    let score = finder.least_score().unwrap();
    let images = tensor(image(&TRUTH, 56, 56), [1, 1, 56, 56], &Device::flex());
    let found = finder
        .find_at_least(images, score)
        .unwrap()
        .unwrap()
        .remove(0);
    assert_eq!(found.len(), 3, "{found:?}");
    for (x, y, radius) in TRUTH {
        let fits = |found: &&mist::geometry::Detection| {
            let (found_x, found_y) = found.bounds.centre_px();
            let size = found.bounds.width_px() / (2.2 * radius);
            (found_x - x).hypot(found_y - y) < 3.0 && (0.6..1.6).contains(&size)
        };
        assert!(found.iter().any(|found| fits(&found)), "{x} {y}: {found:?}");
    }
}

#[test]
fn a_restored_learner_takes_the_same_steps() {
    let device = Device::flex().autodiff();
    let batch = batch(&device);
    let mut whole = learner(&device);
    for step in 0..4 {
        whole.step(&batch, progress(step)).unwrap();
    }
    let mut first = learner(&device);
    for step in 0..2 {
        first.step(&batch, progress(step)).unwrap();
    }
    let mut second = learner(&device);
    second.restore(first.state().unwrap()).unwrap();
    for step in 2..4 {
        second.step(&batch, progress(step)).unwrap();
    }
    assert_eq!(whole.state().unwrap(), second.state().unwrap());
}

/// A side that no level divides, and windows that end anywhere.
#[test]
fn windows_give_what_the_whole_image_gives() {
    let device = Device::flex().autodiff();
    let finder = learner(&device).finder(&Device::flex()).unwrap();
    let (width, height) = (301, 210);
    let discs: Vec<(f32, f32, f32)> = (0..40)
        .map(|index| {
            let along = index as f32;
            (
                along * 37.0 % 301.0,
                along * 53.0 % 210.0,
                3.0 + along * 7.0 % 11.0,
            )
        })
        .collect();
    let pixels = image(&discs, width, height);
    let images = tensor(pixels.clone(), [1, 1, height, width], &Device::flex());
    let whole = finder.heatmap(images.clone()).unwrap().unwrap();
    let whole = whole.try_into_vec_as::<f32>().unwrap();
    let view = ImageView {
        pixels: &pixels,
        channels: 1,
        width_px: width,
        height_px: height,
    };
    let search = LargeSearch {
        window_px: 64,
        ..LargeSearch::default()
    };
    let windows = finder.heatmap_large(view, search).unwrap().unwrap();
    assert_eq!(whole.len(), windows.len());
    let largest = whole
        .iter()
        .zip(&windows)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    assert!(largest < 1e-5, "{largest}");
    let selection = Selection::Strongest(20);
    let in_windows = finder.find_large(view, selection, search).unwrap().unwrap();
    let in_whole = finder.find(images, &[20]).unwrap().remove(0);
    assert_eq!(in_windows.len(), in_whole.len());
    for (a, b) in in_windows.iter().zip(&in_whole) {
        assert!((a.score - b.score).abs() < 1e-5);
    }
}
