//! Models that learn from discs and from how many objects of each class an image holds.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use burn::tensor::{Device, Tensor, TensorData};
use mist::centres::CentresConfig;
use mist::extract::Selection;
use mist::large::{ImageView, LargeSearch};
use mist::model::{ModelConfig, TaskNetwork};
use mist::networks::{DetectorConfig, EncoderConfig};
use mist::training::{
    AdamConfig, Batch, Learner, Method, OptimiserConfig, Optimisers, Progress, Setup,
};

const SIDE: usize = 56;
const STEPS: u64 = 150;
/// Centres, radii and labels: one disc of class 1 in every image, of class 0 one to three.
type Disc = (f32, f32, f32, usize);
const IMAGES: [&[Disc]; 4] = [
    &[(14.0, 14.0, 8.0, 0), (40.0, 18.0, 6.0, 1)],
    &[
        (12.0, 40.0, 7.0, 1),
        (40.0, 14.0, 6.0, 0),
        (38.0, 42.0, 8.0, 0),
    ],
    &[
        (16.0, 16.0, 6.0, 1),
        (40.0, 16.0, 7.0, 0),
        (16.0, 42.0, 8.0, 0),
        (42.0, 42.0, 6.0, 0),
    ],
    &[(42.0, 40.0, 8.0, 1), (14.0, 20.0, 7.0, 0)],
];

/// Class 0 is bright in the first channel, class 1 in the last.
fn image(discs: &[Disc]) -> Vec<f32> {
    let value = |index: usize| {
        let (channel, place) = (index / (SIDE * SIDE), index % (SIDE * SIDE));
        let (x, y) = ((place % SIDE) as f32 + 0.5, (place / SIDE) as f32 + 0.5);
        let at = discs
            .iter()
            .find(|disc| (x - disc.0).hypot(y - disc.1) < disc.2);
        match (at, channel) {
            (None, _) => 0.0,
            (Some(disc), _) if channel == 2 * disc.3 => 0.8,
            (Some(_), _) => 0.4,
        }
    };
    (0..3 * SIDE * SIDE).map(value).collect()
}

fn tensor(images: &[&[Disc]], device: &Device) -> Tensor<4> {
    let pixels: Vec<f32> = images.iter().flat_map(|discs| image(discs)).collect();
    let shape = [images.len(), 3, SIDE, SIDE];
    Tensor::from_data(TensorData::new(pixels, shape), device)
}

fn batch(device: &Device) -> Batch {
    let counts = IMAGES.iter().map(|discs| {
        let red = discs.iter().filter(|disc| disc.3 == 0).count();
        // K is 4; the rest is background.
        vec![red, 1, 3 - red]
    });
    Batch {
        features: None,
        images: tensor(&IMAGES, device),
        class_counts: Some(counts.collect()),
        truths: None,
    }
}

fn config() -> CentresConfig {
    let mut config = CentresConfig::default();
    config.augmentation.pastes = 0;
    config.counted.census_images = 8;
    config
}

fn learner(device: &Device) -> Box<dyn Learner> {
    let mut model = ModelConfig::paper(TaskNetwork::Classifier {
        encoder: EncoderConfig {
            base_channels: 4,
            levels: 3,
            blocks_per_level: 1,
            ..EncoderConfig::paper(3)
        },
        classes: 3,
    });
    model.detector = DetectorConfig {
        channels: 8,
        blocks: 1,
        levels: 2,
        ..DetectorConfig::paper(3)
    };
    model.geometry.patch_px = 8;
    model.least_score = Some(0.4);
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
        model: &model,
        optimisers: &optimisers,
        seed: 1,
        weights: None,
        features: None,
        device,
    };
    config().learner(setup).unwrap()
}

fn progress(step: u64) -> Progress {
    Progress { step, steps: STEPS }
}

#[test]
fn counts_tell_which_disc_is_what() {
    let device = Device::flex().autodiff();
    let mut learner = learner(&device);
    let batch = batch(&device);
    for step in 0..STEPS {
        learner.step(&batch, progress(step)).unwrap();
    }
    let finder = learner.finder(&Device::flex()).unwrap();
    assert_eq!(finder.classes(), Some(3));
    let score = finder.least_score().unwrap();
    let images = tensor(&IMAGES, &Device::flex());
    let found = finder.find_at_least(images, score).unwrap().unwrap();
    for (found, discs) in found.iter().zip(IMAGES) {
        assert_eq!(found.len(), discs.len(), "{found:?}");
        for (x, y, _, label) in discs {
            let fits = |found: &&mist::geometry::Detection| {
                let (found_x, found_y) = found.bounds.centre_px();
                (found_x - x).hypot(found_y - y) < 3.0 && found.label == *label
            };
            assert!(found.iter().any(|found| fits(&found)), "{x} {y}: {found:?}");
        }
    }
    let pixels = image(IMAGES[1]);
    let view = ImageView {
        pixels: &pixels,
        channels: 3,
        width_px: SIDE,
        height_px: SIDE,
    };
    let selection = Selection::AtLeast(score);
    let in_windows = finder.find_large(view, selection, LargeSearch::default());
    let labels = |found: &[mist::geometry::Detection]| -> Vec<usize> {
        found.iter().map(|found| found.label).collect()
    };
    assert_eq!(labels(&in_windows.unwrap().unwrap()), labels(&found[1]));
}

#[test]
fn a_restored_learner_goes_on_with_its_census_and_what_it_told() {
    let device = Device::flex().autodiff();
    let batch = batch(&device);
    // After one step the census is half done, after two it is over.
    for taken in [1, 3] {
        let mut whole = learner(&device);
        for step in 0..5 {
            whole.step(&batch, progress(step)).unwrap();
        }
        let mut first = learner(&device);
        for step in 0..taken {
            first.step(&batch, progress(step)).unwrap();
        }
        let mut second = learner(&device);
        second.restore(first.state().unwrap()).unwrap();
        for step in taken..5 {
            second.step(&batch, progress(step)).unwrap();
        }
        assert_eq!(whole.state().unwrap(), second.state().unwrap());
    }
}

#[test]
fn without_counts_or_with_pastes_nothing_is_learned() {
    let device = Device::flex().autodiff();
    let mut unknown = batch(&device);
    unknown.class_counts = None;
    let error = learner(&device).step(&unknown, progress(0)).unwrap_err();
    assert!(error.to_string().contains("class counts"), "{error}");
    let mut model = ModelConfig::paper(TaskNetwork::Classifier {
        encoder: EncoderConfig::paper(1),
        classes: 3,
    });
    model.detector.levels = 2;
    assert!(config().check(&model).is_ok());
    let error = CentresConfig::default().check(&model).unwrap_err();
    assert!(error.to_string().contains("pastes"), "{error}");
}
