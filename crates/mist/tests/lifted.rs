//! Training on a toy: bright squares on black, two classes by brightness.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use burn::tensor::{Device, Tensor, TensorData};
use mist::baselines::SupervisedConfig;
use mist::extract::Extractor;
use mist::finder::Finder;
use mist::geometry::{PixelBox, Truth};
use mist::heatmap::{LocalSoftmax, ScaleLevels};
use mist::lifted::{
    ExplorationConfig, HeatmapConfig, HeatmapLoss, JitterConfig, KeypointConfig, LabelLoss,
    LiftedConfig, LiftedLearner, ProposalConfig, StageOrder,
};
use mist::loss::MeanDistance;
use mist::model::{Model, ModelConfig, TaskNetwork};
use mist::networks::{BlockStyle, DetectorConfig, EncoderConfig, PatchValues};
use mist::proposals::Proposals;
use mist::ranks::Ranks;
use mist::sample::PatchGeometry;
use mist::training::{
    AdamConfig, Batch, Learner, LearnerState, Method, OptimiserConfig, Optimisers, Progress,
    Schedule, Setup,
};

const SIDE: usize = 24;
const START: Progress = Progress { step: 0, steps: 1 };

/// Two squares per image, one bright and one dim, at places that depend on the image: value, left, top.
fn squares(image: usize) -> [(f32, usize, usize); 2] {
    [(1.0, 4 + image % 3, 5), (0.5, 15, 13 + image % 4)]
}

fn pixels(images: usize) -> Vec<f32> {
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

fn truths(images: usize) -> Vec<Vec<Truth>> {
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

fn images(count: usize, device: &Device) -> Tensor<4> {
    let data = TensorData::new(pixels(count), [count, 1, SIDE, SIDE]);
    Tensor::from_data(data, device)
}

fn batch(count: usize) -> Batch {
    Batch {
        features: None,
        images: images(count, &Device::flex().autodiff()),
        class_counts: Some(vec![vec![1, 1]; count]),
        truths: Some(truths(count)),
    }
}

fn config(order: StageOrder) -> LiftedConfig {
    LiftedConfig {
        order,
        label_loss: LabelLoss::default(),
        mean_distance: MeanDistance::Squared,
        task_loss_factor: 1.0,
        proposals: ProposalConfig {
            steps: 2,
            kind: Proposals::Cover,
            compete: true,
        },
        exploration: ExplorationConfig::default(),
        keypoints: KeypointConfig {
            steps: 1,
            learning_rate: 2.0,
            max_step_px: 0.0,
            momentum: 0.5,
            move_scale: true,
            lambda: 0.01,
        },
        jitter: JitterConfig {
            shift_px: 0.3,
            ..JitterConfig::default()
        },
        heatmap: HeatmapConfig {
            loss: HeatmapLoss::Sum,
            window_px: 1,
            ..HeatmapConfig::default()
        },
    }
}

/// Without proposals.
fn from_heatmap(order: StageOrder) -> LiftedConfig {
    LiftedConfig {
        proposals: ProposalConfig::default(),
        ..config(order)
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

fn classifier() -> TaskNetwork {
    TaskNetwork::Classifier {
        encoder: encoder(),
        classes: 2,
    }
}

fn autoencoder() -> TaskNetwork {
    TaskNetwork::Autoencoder {
        encoder: encoder(),
        values: PatchValues::Unit,
    }
}

fn with_setup<T>(task: TaskNetwork, start: impl FnOnce(Setup<'_>) -> T) -> T {
    let optimiser = OptimiserConfig {
        adam: AdamConfig {
            learning_rate: 2e-3,
            ..AdamConfig::default()
        },
        clip_norm: 10.0,
        ema_decay: 0.9,
        schedule: Schedule::default(),
    };
    let optimisers: Optimisers = [("detector", optimiser), ("task", optimiser)]
        .into_iter()
        .collect();
    start(Setup {
        features: None,
        model: &model(task),
        optimisers: &optimisers,
        seed: 1,
        weights: None,
        device: &Device::flex().autodiff(),
        ranks: &Ranks::default(),
    })
}

fn learner(lifted: LiftedConfig, task: TaskNetwork) -> LiftedLearner {
    with_setup(task, |setup| lifted.start(setup)).unwrap()
}

fn train(learner: &mut dyn Learner, steps: usize) -> Vec<f64> {
    let step = |_| {
        let step = learner.step(&batch(6), START).unwrap();
        assert_eq!(step.measurements.non_finite(), None);
        step.measurements.get("task_loss").unwrap()
    };
    (0..steps).map(step).collect()
}

fn bytes(learner: &dyn Learner) -> Vec<u8> {
    learner.state().unwrap().to_bytes(9).unwrap()
}

#[test]
fn both_orders_learn_and_repeat_to_the_bit() {
    for order in [StageOrder::TaskFirst, StageOrder::KeypointsFirst] {
        let mut first = learner(config(order), classifier());
        let losses = train(&mut first, 40);
        let (early, late) = (losses[0], losses[39]);
        assert!(late < 0.5 * early.max(1e-3), "{order:?}: {early} to {late}");
        let mut second = learner(config(order), classifier());
        train(&mut second, 40);
        assert_eq!(bytes(&first), bytes(&second));
    }
}

#[test]
fn a_restored_training_continues_to_the_bit() {
    let lifted = config(StageOrder::TaskFirst);
    let mut whole = learner(lifted, classifier());
    train(&mut whole, 9);
    let mut first = learner(lifted, classifier());
    train(&mut first, 4);
    let (state, step) = LearnerState::from_bytes(&bytes(&first)).unwrap();
    assert_eq!(step, 9);
    let mut second = learner(lifted, classifier());
    second.restore(state.clone()).unwrap();
    train(&mut second, 5);
    assert_eq!(bytes(&whole), bytes(&second));
    let mut other = learner(lifted, autoencoder());
    assert!(other.restore(state).is_err());
}

#[test]
fn what_a_method_needs_to_know_must_be_known() {
    let mut unknown = batch(6);
    (unknown.class_counts, unknown.truths) = (None, None);
    let lifted = config(StageOrder::TaskFirst);
    let step = |task| learner(lifted, task).step(&unknown, START);
    assert!(step(classifier()).is_err());
    assert!(step(autoencoder()).is_ok());
    let supervised = SupervisedConfig::default();
    let mut supervised = with_setup(classifier(), |setup| supervised.learner(setup)).unwrap();
    assert!(supervised.step(&unknown, START).is_err());
}

/// How far the keypoints of a fresh reconstruction move in one training step, in all.
fn distance_px(lifted: LiftedConfig) -> f32 {
    let mut learner = learner(lifted, autoencoder());
    let step = learner.lifted_step(&batch(6), START).unwrap();
    let pairs = step.start.iter().flatten().zip(step.moved.iter().flatten());
    pairs
        .map(|(a, b)| (a.x_px - b.x_px).hypot(a.y_px - b.y_px))
        .sum()
}

#[test]
fn momentum_carries_further_and_lambda_holds_back() {
    let mut free = from_heatmap(StageOrder::KeypointsFirst);
    free.keypoints = KeypointConfig {
        steps: 4,
        learning_rate: 1e-3,
        momentum: 0.0,
        lambda: 0.0,
        ..free.keypoints
    };
    let mut carried = free;
    carried.keypoints.momentum = 0.9;
    assert!(distance_px(carried) > 1.5 * distance_px(free));
    let mut held = free;
    held.keypoints.lambda = 200.0;
    assert!(distance_px(held) < 0.9 * distance_px(free));
}

#[test]
fn patches_of_a_classifier_may_be_rotated_those_of_an_auto_encoder_not() {
    let mut rotating = config(StageOrder::TaskFirst);
    rotating.proposals.kind = Proposals::Peaks;
    rotating.jitter.rotation_rad = 0.3;
    let losses = train(&mut learner(rotating, classifier()), 40);
    assert!(losses[39] < 0.5 * losses[0].max(1e-3), "{losses:?}");
    assert!(with_setup(autoencoder(), |setup| rotating.start(setup)).is_err());
}

#[test]
fn supervised_training_learns_places_and_labels() {
    let supervised = SupervisedConfig {
        jitter_shift_px: 0.5,
        jitter_rotation_rad: 0.1,
        heatmap_window_px: 3,
    };
    let mut learner = with_setup(classifier(), |setup| supervised.learner(setup)).unwrap();
    let steps: Vec<_> = (0..40)
        .map(|_| learner.step(&batch(6), START).unwrap().measurements)
        .collect();
    let loss = |step: usize, name| steps[step].get(name).unwrap();
    assert!(loss(39, "task_loss") < 0.5 * loss(0, "task_loss"));
    assert!(loss(39, "heatmap_loss") < loss(0, "heatmap_loss"));
    let mut uneven = batch(6);
    uneven.truths.as_mut().unwrap()[3].pop();
    assert!(learner.step(&uneven, START).is_err());
}

#[test]
fn reconstruction_learns_through_the_same_loop() {
    let mut learner = learner(config(StageOrder::TaskFirst), autoencoder());
    let losses = train(&mut learner, 60);
    let (early, late) = (losses[0], losses[59]);
    assert!(late < 0.75 * early, "{early} to {late}");
}

/// The image's task loss has no bound, so that a step may not have one either.
#[test]
fn the_limit_holds_whatever_the_gradient() {
    let mut one_class = batch(1);
    one_class.class_counts = Some(vec![vec![1, 0]]);
    // Edges of a box of 6 px move by 1.5 px when its scale changes by .5.
    for (move_scale, scale_limit) in [(false, 0.0), (true, 0.5)] {
        let mut lifted = from_heatmap(StageOrder::TaskFirst);
        lifted.mean_distance = MeanDistance::RelativeEntropy;
        lifted.keypoints = KeypointConfig {
            learning_rate: 1e6,
            max_step_px: 1.5,
            move_scale,
            ..lifted.keypoints
        };
        let mut learner = learner(lifted, classifier());
        let step = learner.lifted_step(&one_class, START).unwrap();
        let (mut furthest, mut most) = (0f32, 0f32);
        for (start, moved) in step.start[0].iter().zip(&step.moved[0]) {
            let length = (moved.x_px - start.x_px).hypot(moved.y_px - start.y_px);
            furthest = furthest.max(length);
            most = most.max((moved.scale - start.scale).abs());
        }
        assert!((1.4..=1.5 + 1e-4).contains(&furthest), "{furthest}");
        assert!((most - scale_limit).abs() < 1e-4, "{most}");
    }
}

#[test]
fn a_finder_gives_at_most_k_boxes_per_image() {
    let mut learner = learner(config(StageOrder::TaskFirst), classifier());
    train(&mut learner, 1);
    let device = Device::flex();
    let finder = learner.finder(&device).unwrap();
    let found = finder.find(images(3, &device), &[2, 0, 1]).unwrap();
    let lengths: Vec<usize> = found.iter().map(Vec::len).collect();
    assert_eq!(lengths, [2, 0, 1]);
    assert!(found[0][0].score >= found[0][1].score);
    assert!(found.iter().flatten().all(|found| found.label < 2));
    assert!(finder.find(images(3, &device), &[2, 2]).is_err());
    let bytes = finder.to_safetensors().unwrap();
    let again = Model::from_safetensors(model(classifier()), &bytes, &device).unwrap();
    assert_eq!(again.find(images(3, &device), &[2, 0, 1]).unwrap(), found);
    assert!(finder.redraw(images(3, &device), &found).unwrap().is_none());
}

#[test]
fn an_auto_encoder_redraws_what_the_loss_compares() {
    let device = Device::flex();
    let mut lifted = from_heatmap(StageOrder::TaskFirst);
    lifted.jitter = JitterConfig::default();
    let mut learner = learner(lifted, autoencoder());
    let finder = learner.finder(&device).unwrap();
    let found = finder.find(images(6, &device), &[2; 6]).unwrap();
    let redraw = |found: &[_]| finder.redraw(images(6, &device), found).unwrap().unwrap();
    let redrawn = redraw(&found);
    assert_eq!(redrawn.dims(), [6, 1, SIDE, SIDE]);
    let squares = (images(6, &device) - redrawn.clone()).square().sum();
    let loss = squares.into_scalar::<f32>() / 6.0;
    let expected = learner.lifted_step(&batch(6), START).unwrap().task_loss;
    assert!(
        (loss - expected).abs() < 1e-3 * expected,
        "{loss} {expected}"
    );

    let mut uneven = found.clone();
    uneven[1].clear();
    let parts = redraw(&uneven);
    let of = |images: &Tensor<4>, index| {
        let image = images.clone().narrow(0, index, 1);
        image.try_into_vec_as::<f32>().unwrap()
    };
    assert_eq!(of(&parts, 1), vec![0.0; SIDE * SIDE]);
    for (a, b) in of(&parts, 2).iter().zip(of(&redrawn, 2)) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

#[test]
fn outputs_that_are_not_finite_are_an_error() {
    let device = Device::flex();
    let config = model(classifier());
    let mut model = Model::init(config, 1, &device).unwrap();
    let huge = model.task.parameter_values().unwrap();
    let huge: Vec<f32> = huge.iter().map(|value| value * 1e30).collect();
    let huge = Tensor::<1>::from_data(huge.as_slice(), &device);
    model.task = model.task.with_parameters(huge).unwrap();
    let found = model.find(images(2, &device), &[2; 2]);
    assert!(
        matches!(found, Err(mist::Error::NonFiniteOutput { .. })),
        "{found:?}"
    );
}
