//! Exploration from a random detector on a toy: bright and dim squares on black, places and counts random.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use burn::tensor::{Device, Tensor, TensorData};
use mist::extract::Extractor;
use mist::heatmap::{LocalSoftmax, ScaleLevels};
use mist::lifted::{
    CentringConfig, ExchangeConfig, ExplorationConfig, KeypointConfig, LiftedConfig, LiftedLearner,
    PoolConfig, Reconstruction, ReleaseConfig, SettleConfig, StageOrder, TakeOffConfig, Task,
};
use mist::loss::MeanDistance;
use mist::model::{Model, ModelConfig, TaskNetwork};
use mist::networks::{BlockStyle, DetectorConfig, EncoderConfig, PatchValues};
use mist::ranks::Ranks;
use mist::sample::{PatchGeometry, sample};
use mist::training::{
    AdamConfig, Batch, Learner, LearnerState, OptimiserConfig, Optimisers, Progress, Setup,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SIDE: usize = 28;
const IMAGES: usize = 4;
const STEPS: u64 = 16;

/// Three squares in three of nine cells, each bright or dim.
fn batch(step: u64) -> Batch {
    let mut random = ChaCha8Rng::seed_from_u64(step);
    let mut pixels = vec![0.0; IMAGES * SIDE * SIDE];
    let mut counts = Vec::new();
    for map in pixels.chunks_exact_mut(SIDE * SIDE) {
        let mut count = vec![0, 0];
        let first = random.random_range(0..9);
        for cell in (first..first + 3).map(|cell| cell % 9) {
            let class = random.random_range(0..2);
            count[class] += 1;
            let (left, top) = (2 + 9 * (cell % 3), 2 + 9 * (cell / 3));
            for y in top..top + 4 {
                map[y * SIDE + left..][..4].fill([1.0, 0.4][class]);
            }
        }
        counts.push(count);
    }
    let data = TensorData::new(pixels, [IMAGES, 1, SIDE, SIDE]);
    Batch {
        features: None,
        images: Tensor::from_data(data, &Device::flex().autodiff()),
        class_counts: Some(counts),
        truths: None,
    }
}

/// Everything on; released as soon as it can be.
fn explored() -> LiftedConfig {
    LiftedConfig {
        order: StageOrder::KeypointsFirst,
        mean_distance: MeanDistance::RelativeEntropy,
        keypoints: KeypointConfig {
            steps: 0,
            ..KeypointConfig::default()
        },
        exploration: ExplorationConfig {
            release: ReleaseConfig {
                plateau_steps: 3,
                recent_steps: 2,
                below_frac: 100.0,
                task_rate_frac: 0.4,
                patience_steps: 0,
            },
            take_off: TakeOffConfig::default(),
            pool: PoolConfig {
                drawn_sets: 2,
                moved_sets: 2,
                ..PoolConfig::default()
            },
            exchanges: ExchangeConfig {
                limit: 4,
                min_distance_px: 4.0,
                margin: 0.0,
                moved_margin: 0.0,
            },
            centring: CentringConfig {
                jitter_px: 1.0,
                final_jitter_px: 0.5,
            },
            settle: SettleConfig::default(),
        },
        ..LiftedConfig::default()
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
        extractor: Extractor::new(3),
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

fn start(lifted: LiftedConfig, task: TaskNetwork) -> Result<LiftedLearner, mist::Error> {
    let optimiser = OptimiserConfig {
        adam: AdamConfig {
            learning_rate: 2e-3,
            ..AdamConfig::default()
        },
        ema_decay: 0.9,
        ..OptimiserConfig::default()
    };
    let optimisers: Optimisers = [("detector", optimiser), ("task", optimiser)]
        .into_iter()
        .collect();
    lifted.start(Setup {
        features: None,
        model: &model(task),
        optimisers: &optimisers,
        seed: 1,
        weights: None,
        device: &Device::flex().autodiff(),
        ranks: &Ranks::default(),
    })
}

fn learner(lifted: LiftedConfig) -> LiftedLearner {
    let task = TaskNetwork::Classifier {
        encoder: encoder(),
        classes: 2,
    };
    start(lifted, task).unwrap()
}

fn train(learner: &mut LiftedLearner, steps: std::ops::Range<u64>) {
    for step in steps {
        let progress = Progress { step, steps: STEPS };
        let report = learner.step(&batch(step), progress).unwrap();
        assert_eq!(report.measurements.non_finite(), None);
    }
}

fn bytes(learner: &LiftedLearner) -> Vec<u8> {
    learner.state().unwrap().to_bytes(1).unwrap()
}

fn of_detector(learner: &LiftedLearner, vector: &str) -> Vec<f32> {
    let mut state = learner.state().unwrap();
    state.take("detector").unwrap().vectors[vector].clone()
}

fn detector(learner: &LiftedLearner) -> Vec<f32> {
    of_detector(learner, "parameters")
}

#[test]
fn the_detector_is_frozen_and_keypoints_stay_until_the_release() {
    let mut learner = learner(explored());
    let before = detector(&learner);
    let step = |learner: &mut LiftedLearner, step| {
        let progress = Progress { step, steps: STEPS };
        learner.lifted_step(&batch(step), progress).unwrap()
    };
    for waiting in 0..5 {
        let step = step(&mut learner, waiting);
        assert_eq!((step.exchanges, &step.start), (0, &step.moved));
    }
    assert_eq!(detector(&learner), before);
    let explored = (5..10).map(|released| step(&mut learner, released));
    assert!(explored.map(|step| step.exchanges).sum::<usize>() > 0);
    assert_ne!(detector(&learner), before);
}

fn resumes_to_the_bit(config: LiftedConfig, stops: &[u64]) {
    let mut whole = learner(config);
    train(&mut whole, 0..STEPS);
    for &stop in stops {
        let mut first = learner(config);
        train(&mut first, 0..stop);
        let (state, _) = LearnerState::from_bytes(&bytes(&first)).unwrap();
        let mut second = learner(config);
        second.restore(state).unwrap();
        train(&mut second, stop..STEPS);
        assert!(bytes(&whole) == bytes(&second), "stopped after {stop}");
    }
}

#[test]
fn a_training_resumes_to_the_bit_before_and_after_the_release() {
    resumes_to_the_bit(explored(), &[1, 4, 5, 9]);
}

#[test]
fn a_settled_detector_rests_with_its_averaged_weights_and_resumes_to_the_bit() {
    let mut settling = explored();
    settling.exploration.settle.from_frac = 0.5;
    // Released after step 5 of 16, so settled from step 10 on.
    let mut learner = learner(settling);
    train(&mut learner, 0..10);
    let average = of_detector(&learner, "average");
    assert_ne!(detector(&learner), average);
    train(&mut learner, 10..STEPS);
    assert_eq!(detector(&learner), average);
    assert_eq!(of_detector(&learner, "average"), average);
    resumes_to_the_bit(settling, &[7, 10, 12]);
}

#[test]
fn networks_that_learn_nothing_start_anew_and_resume_to_the_bit() {
    let mut hopeless = explored();
    hopeless.exploration.release.below_frac = 0.0;
    hopeless.exploration.release.patience_steps = 6;
    resumes_to_the_bit(hopeless, &[3, 6, 8, 13]);
    let mut patient = hopeless;
    patient.exploration.release.patience_steps = 0;
    let after = |config, steps| {
        let mut learner = learner(config);
        train(&mut learner, 0..steps);
        bytes(&learner)
    };
    assert!(after(hopeless, 5) == after(patient, 5));
    assert!(after(hopeless, 6) != after(patient, 6));
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let trained = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let mut learner = learner(explored());
            train(&mut learner, 0..10);
            bytes(&learner)
        })
    };
    let one = trained(1);
    assert!(trained(2) == one && trained(4) == one);
}

#[test]
fn each_part_can_be_switched_off() {
    let mut off = explored();
    off.exploration = ExplorationConfig::default();
    let mut plain = learner(off);
    train(&mut plain, 0..3);
    assert!(plain.state().unwrap().memory.is_null());

    let without: [fn(&mut ExplorationConfig); 5] = [
        |config| config.release = ReleaseConfig::default(),
        |config| config.pool.drawn_sets = 0,
        |config| config.pool.moved_sets = 0,
        |config| config.exchanges.limit = 0,
        |config| config.centring = CentringConfig::default(),
    ];
    let mut all = learner(explored());
    train(&mut all, 0..10);
    for without in without {
        let mut lifted = explored();
        without(&mut lifted.exploration);
        let mut learner = learner(lifted);
        train(&mut learner, 0..10);
        assert!(bytes(&learner) != bytes(&all));
    }
}

#[test]
fn auto_encoders_vote_by_squared_error() {
    let task = TaskNetwork::Autoencoder {
        encoder: encoder(),
        values: PatchValues::Unit,
    };
    let mut learner = start(explored(), task).unwrap();
    let steps = (0..8).map(|step| {
        let progress = Progress { step, steps: STEPS };
        learner.lifted_step(&batch(step), progress).unwrap()
    });
    let exchanges: usize = steps.map(|step| step.exchanges).sum();
    assert!(exchanges > 0);
}

#[test]
fn votes_on_the_keypoints_are_their_loss() {
    let task = TaskNetwork::Autoencoder {
        encoder: encoder(),
        values: PatchValues::Unit,
    };
    let device = Device::flex().autodiff();
    let model = Model::init(model(task), 1, &device).unwrap();
    let geometry = model.config().geometry;
    let reconstruction = Reconstruction { geometry };
    let images = batch(1).images;
    let places: Vec<f32> = (0..IMAGES * 4)
        .flat_map(|index| [4.0 + (index % 4) as f32 * 6.0, 3.0 + index as f32, 1.0])
        .collect();
    let points = Tensor::from_data(TensorData::new(places, [IMAGES, 4, 3]), &device);
    let losses = |points: Tensor<3>| {
        let patches = sample(images.clone(), points.clone(), geometry).unwrap();
        let losses = reconstruction.loss(&model.task, &images, patches, points);
        losses.unwrap().try_into_vec_as::<f32>().unwrap()
    };
    let patches = sample(images.clone(), points.clone(), geometry).unwrap();
    let votes = reconstruction.votes(&model.task, &images, patches, points.clone(), 3);
    let others = Tensor::cat(
        vec![
            points.clone().narrow(1, 0, 2),
            points.clone().narrow(1, 3, 1),
        ],
        1,
    );
    let expected = losses(points.narrow(1, 0, 3))
        .into_iter()
        .zip(losses(others));
    for (votes, (own, exchanged)) in votes.unwrap().iter().zip(expected) {
        assert!((votes.loss() - own).abs() < 1e-3, "{} {own}", votes.loss());
        let predicted = votes.loss_after(2, 3);
        assert!(
            (predicted - exchanged).abs() < 1e-3,
            "{predicted} {exchanged}"
        );
    }
}
