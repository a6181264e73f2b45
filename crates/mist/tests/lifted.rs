//! The lifted optimisation on a toy: bright squares on black, two classes by brightness.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use burn::tensor::{Device, Tensor, TensorData};
use mist::baselines::SupervisedConfig;
use mist::extract::Extractor;
use mist::geometry::{PixelBox, Truth};
use mist::heatmap::{LocalSoftmax, ScaleLevels};
use mist::lifted::{Classification, HeatmapLoss, LiftedConfig, Reconstruction, Seeds, StageOrder};
use mist::loss::MeanDistance;
use mist::model::{Model, ModelConfig, TaskNetwork};
use mist::networks::{BlockStyle, DetectorConfig, EncoderConfig, PatchValues};
use mist::sample::PatchGeometry;
use mist::training::{AdamConfig, OptimiserConfig, Progress, Schedule, Trainee};

const SIDE: usize = 24;
const START: Progress = Progress { step: 0, steps: 1 };

/// Two squares per image, one bright and one dim, at places that depend on the image: value, left, top.
fn squares(image: usize) -> [(f32, usize, usize); 2] {
    [(1.0, 4 + image % 3, 5), (0.5, 15, 13 + image % 4)]
}

fn batch(images: usize) -> Vec<f32> {
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

fn config(order: StageOrder) -> LiftedConfig {
    LiftedConfig {
        order,
        seeded_steps: 2,
        seeds: Seeds::Cover,
        seeds_compete: true,
        seed_box_share: 1.0,
        reseed_below: 0.0,
        coarse_to_fine_steps: 0,
        keypoint_steps: 1,
        keypoint_rate: 2.0,
        keypoint_limit_px: 0.0,
        keypoint_momentum: 0.5,
        moves_scale: true,
        jitter_px: 0.3,
        jitter_scale: 0.0,
        jitter_turn_rad: 0.0,
        lambda: 0.01,
        lambda_warmup_steps: 2,
        mean_distance: MeanDistance::Squared,
        task_loss_factor: 1.0,
        heatmap_loss: HeatmapLoss::Sum,
        heatmap_window_px: 1,
    }
}

fn encoder() -> EncoderConfig {
    EncoderConfig {
        in_channels: 1,
        base_channels: 4,
        levels: 3,
        blocks_per_level: 1,
        style: BlockStyle::Official,
        code_channels: None,
    }
}

fn model(task: TaskNetwork) -> ModelConfig {
    ModelConfig {
        background: 0.0,
        scales: ScaleLevels::lf_net(),
        detector: DetectorConfig {
            in_channels: 1,
            channels: 8,
            blocks: 2,
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
            context: 1.0,
        },
        task,
    }
}

fn classifier() -> TaskNetwork {
    TaskNetwork::Classifier {
        encoder: encoder(),
        classes: 2,
    }
}

fn trainee(task: TaskNetwork) -> Trainee {
    let device = Device::flex().autodiff();
    let optimiser = OptimiserConfig {
        adam: AdamConfig {
            rate: 2e-3,
            ..AdamConfig::default()
        },
        clip_norm: 10.0,
        averaging: 0.9,
        schedule: Schedule::default(),
    };
    Trainee::new(
        Model::init(model(task), 1, &device).unwrap(),
        optimiser,
        optimiser,
    )
    .unwrap()
}

fn redrawer() -> (Trainee, Reconstruction) {
    let trainee = trainee(TaskNetwork::Autoencoder {
        encoder: encoder(),
        values: PatchValues::Unit,
    });
    let geometry = trainee.model.config().geometry;
    (trainee, Reconstruction { geometry })
}

fn images(count: usize, device: &Device) -> Tensor<4> {
    Tensor::from_data(
        TensorData::new(batch(count), [count, 1, SIDE, SIDE]),
        device,
    )
}

fn classify(trainee: &mut Trainee, order: StageOrder, steps: usize) -> Vec<f32> {
    let device = Device::flex().autodiff();
    let task = Classification {
        mean_labels: Tensor::full([6, 2], 0.5, &device),
        distance: MeanDistance::Squared,
    };
    (0..steps)
        .map(|_| {
            let step = config(order).step(trainee, images(6, &device), &task, START);
            step.unwrap().task_loss
        })
        .collect()
}

#[test]
fn both_orders_learn_and_repeat_to_the_bit() {
    for order in [StageOrder::TaskFirst, StageOrder::KeypointsFirst] {
        let mut first = trainee(classifier());
        let losses = classify(&mut first, order, 40);
        assert!(losses.iter().all(|loss| loss.is_finite()));
        let (early, late) = (losses[0], losses[39]);
        assert!(late < 0.5 * early.max(1e-3), "{order:?}: {early} to {late}");
        let mut second = trainee(classifier());
        classify(&mut second, order, 40);
        assert_eq!(first.to_bytes(40).unwrap(), second.to_bytes(40).unwrap());
    }
}

#[test]
fn a_restored_training_goes_on_to_the_bit() {
    let mut whole = trainee(classifier());
    classify(&mut whole, StageOrder::TaskFirst, 9);
    let mut first = trainee(classifier());
    classify(&mut first, StageOrder::TaskFirst, 4);
    let bytes = first.to_bytes(4).unwrap();
    let mut second = trainee(classifier());
    assert_eq!(second.restore(&bytes).unwrap(), 4);
    classify(&mut second, StageOrder::TaskFirst, 5);
    assert_eq!(whole.to_bytes(9).unwrap(), second.to_bytes(9).unwrap());
    for length in [0, 1, 7, bytes.len() / 2, bytes.len() - 1] {
        assert!(second.restore(&bytes[..length]).is_err());
    }
}

/// How far the keypoints of a fresh reconstruction go in one training step, in all.
fn way_px(lifted: LiftedConfig, progress: Progress) -> f32 {
    let device = Device::flex().autodiff();
    let (mut trainee, task) = redrawer();
    let step = lifted.step(&mut trainee, images(6, &device), &task, progress);
    let step = step.unwrap();
    let pairs = step.found.iter().flatten().zip(step.moved.iter().flatten());
    pairs
        .map(|(a, b)| (a.x_px - b.x_px).hypot(a.y_px - b.y_px))
        .sum()
}

#[test]
fn momentum_carries_further_and_lambda_holds_back_once_it_is_warm() {
    let free = LiftedConfig {
        seeded_steps: 0,
        keypoint_steps: 4,
        keypoint_rate: 1e-3,
        keypoint_momentum: 0.0,
        lambda: 0.0,
        lambda_warmup_steps: 100,
        ..config(StageOrder::KeypointsFirst)
    };
    let way = |lifted| way_px(lifted, START);
    let carried = LiftedConfig {
        keypoint_momentum: 0.9,
        ..free
    };
    assert!(way(carried) > 1.5 * way(free));
    let held = LiftedConfig {
        lambda: 200.0,
        ..free
    };
    let (cold, late) = (way(held), Progress { step: 99, ..START });
    let warm = way_px(held, late);
    assert!(warm < 0.9 * cold, "{warm} {cold}");
    assert!(cold > 0.95 * way(free), "{cold} {}", way(free));
}

#[test]
fn keypoints_on_nothing_are_seeded_again_and_small_scales_come_later() {
    let device = Device::flex().autodiff();
    let start = |lifted: LiftedConfig| {
        let (mut trainee, task) = redrawer();
        let step = lifted.step(&mut trainee, images(6, &device), &task, START);
        step.unwrap().found
    };
    let own = LiftedConfig {
        seeded_steps: 0,
        seeds_compete: false,
        ..config(StageOrder::KeypointsFirst)
    };
    let seeds = start(LiftedConfig {
        seeded_steps: 1,
        ..own
    });
    let all_again = LiftedConfig {
        reseed_below: f32::MAX,
        ..own
    };
    assert_ne!(start(own), seeds);
    assert_eq!(start(all_again), seeds);
    let coarse = LiftedConfig {
        coarse_to_fine_steps: 10,
        ..own
    };
    let largest = 2.0f32.sqrt();
    let scales = start(coarse).into_iter().flatten().map(|p| p.scale);
    assert!(
        scales
            .into_iter()
            .all(|scale| (scale - largest).abs() < 1e-5)
    );
}

#[test]
fn patches_of_a_classifier_may_be_turned_those_of_an_auto_encoder_not() {
    let device = Device::flex().autodiff();
    let turning = LiftedConfig {
        seeds: Seeds::Peaks,
        jitter_turn_rad: 0.3,
        ..config(StageOrder::TaskFirst)
    };
    let task = Classification {
        mean_labels: Tensor::full([6, 2], 0.5, &device),
        distance: MeanDistance::Squared,
    };
    let mut reader = trainee(classifier());
    let losses: Vec<f32> = (0..40)
        .map(|_| {
            let step = turning.step(&mut reader, images(6, &device), &task, START);
            step.unwrap().task_loss
        })
        .collect();
    assert!(losses[39] < 0.5 * losses[0].max(1e-3), "{losses:?}");
    let (mut redrawer, task) = redrawer();
    let step = turning.step(&mut redrawer, images(6, &device), &task, START);
    assert!(step.is_err());
}

#[test]
fn the_supervised_bound_learns_places_and_labels() {
    let device = Device::flex().autodiff();
    let truths: Vec<Vec<Truth>> = (0..6)
        .map(|image| {
            let truth = |(label, (_, left, top)): (usize, (f32, usize, usize))| Truth {
                bounds: PixelBox {
                    x_min_px: left as f32 - 1.0,
                    y_min_px: top as f32 - 1.0,
                    x_max_px: left as f32 + 5.0,
                    y_max_px: top as f32 + 5.0,
                },
                label,
            };
            squares(image).into_iter().enumerate().map(truth).collect()
        })
        .collect();
    let supervised = SupervisedConfig {
        jitter_px: 0.5,
        jitter_turn_rad: 0.1,
        heatmap_window_px: 3,
    };
    let mut trainee = trainee(classifier());
    let mut step = |truths: &[Vec<Truth>]| {
        supervised.step(&mut trainee, images(6, &device), truths, || 0.5, START)
    };
    let steps: Vec<_> = (0..40).map(|_| step(&truths).unwrap()).collect();
    assert!(steps[39].task_loss < 0.5 * steps[0].task_loss);
    assert!(steps[39].heatmap_loss < steps[0].heatmap_loss);
    assert_eq!(steps[0].moved[2][1].x_px, 17.0);
    let mut uneven = truths.clone();
    uneven[3].pop();
    assert!(step(&uneven).is_err());
}

#[test]
fn reconstruction_learns_through_the_same_loop() {
    let device = Device::flex().autodiff();
    let (mut trainee, task) = redrawer();
    let lifted = config(StageOrder::TaskFirst);
    let losses: Vec<f32> = (0..60)
        .map(|_| {
            let step = lifted.step(&mut trainee, images(6, &device), &task, START);
            step.unwrap().task_loss
        })
        .collect();
    assert!(
        losses[59] < 0.75 * losses[0],
        "{} to {}",
        losses[0],
        losses[59]
    );
}

/// The image's task loss has no bound, so that a step may not have one either.
#[test]
fn the_limit_holds_whatever_the_gradient() {
    let device = Device::flex().autodiff();
    let task = Classification {
        mean_labels: Tensor::from_data([[1.0, 0.0]], &device),
        distance: MeanDistance::RelativeEntropy,
    };
    // Edges of a box of 6 px move by 1.5 px when its scale changes by .5.
    for (moves_scale, scale_limit) in [(false, 0.0), (true, 0.5)] {
        let mut trainee = trainee(classifier());
        let lifted = LiftedConfig {
            keypoint_rate: 1e9,
            keypoint_limit_px: 1.5,
            moves_scale,
            seeded_steps: 0,
            ..config(StageOrder::TaskFirst)
        };
        let step = lifted.step(&mut trainee, images(1, &device), &task, START);
        let step = step.unwrap();
        let (mut furthest, mut most) = (0f32, 0f32);
        for (found, moved) in step.found[0].iter().zip(&step.moved[0]) {
            let length = (moved.x_px - found.x_px).hypot(moved.y_px - found.y_px);
            furthest = furthest.max(length);
            most = most.max((moved.scale - found.scale).abs());
        }
        assert!((1.4..=1.5 + 1e-4).contains(&furthest), "{furthest}");
        assert!((most - scale_limit).abs() < 1e-4, "{most}");
    }
}

#[test]
fn detection_gives_k_boxes_per_image() {
    let mut trainee = trainee(classifier());
    classify(&mut trainee, StageOrder::TaskFirst, 1);
    let device = Device::flex();
    let model = trainee.evaluated(&device).unwrap();
    let found = model.detect(images(3, &device)).unwrap();
    assert_eq!(found.len(), 3);
    for image in &found {
        assert_eq!(image.len(), 2);
        assert!(image[0].score >= image[1].score);
        assert!(image.iter().all(|found| found.label < 2));
    }
    let bytes = model.to_safetensors().unwrap();
    let again = Model::from_safetensors(model.config().clone(), &bytes, &device).unwrap();
    assert_eq!(again.detect(images(3, &device)).unwrap(), found);
}

#[test]
fn an_auto_encoder_redraws_what_the_loss_compares() {
    let device = Device::flex().autodiff();
    let mut trainee = trainee(TaskNetwork::Autoencoder {
        encoder: encoder(),
        values: PatchValues::Unit,
    });
    let geometry = trainee.model.config().geometry;
    let plain = Device::flex();
    let model = trainee.evaluated(&plain).unwrap();
    let found = model.locate(images(6, &plain)).unwrap();
    let redrawn = model.redraw(images(6, &plain), &found).unwrap();
    assert_eq!(redrawn.dims(), [6, 1, SIDE, SIDE]);
    let loss = (images(6, &plain) - redrawn)
        .square()
        .sum()
        .into_scalar::<f32>()
        / 6.0;
    let task = Reconstruction { geometry };
    let lifted = LiftedConfig {
        seeded_steps: 0,
        seeds_compete: false,
        jitter_px: 0.0,
        ..config(StageOrder::TaskFirst)
    };
    let step = lifted.step(&mut trainee, images(6, &device), &task, START);
    let expected = step.unwrap().task_loss;
    assert!(
        (loss - expected).abs() < 1e-3 * expected,
        "{loss} {expected}"
    );

    let reader = Model::init(model.config().clone(), 0, &plain).unwrap();
    let classifier = Model::init(
        ModelConfig {
            task: classifier(),
            ..reader.config().clone()
        },
        0,
        &plain,
    );
    assert!(
        classifier
            .unwrap()
            .redraw(images(6, &plain), &found)
            .is_err()
    );
}
