//! The methods that MIST is compared with, on a toy.

#![allow(
    missing_docs,
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod squares;

use burn::tensor::Device;
use mist::baselines::{ChannelwiseConfig, GridConfig, Xie20Config};
use mist::extract::Extractor;
use mist::geometry::PixelBox;
use mist::model::ModelConfig;
use mist::networks::EncoderConfig;
use mist::sample::PatchGeometry;
use mist::soft_top_k::SoftTopK;
use mist::training::{Learner, LearnerState, Method};
use squares::{
    SIDE, START, autoencoder, batch, bytes, classifier, images, model, train, with_model,
};

/// A method with a model that it trains, and the share of its first loss that 60 steps leave at most.
struct Case {
    name: &'static str,
    method: Box<dyn Method + Sync>,
    model: ModelConfig,
    left: f64,
}

fn of_masks(top_k: SoftTopK) -> Xie20Config {
    Xie20Config {
        top_k,
        epsilon: 0.3,
        regions: EncoderConfig {
            base_channels: 4,
            levels: 2,
            blocks_per_level: 1,
            ..EncoderConfig::paper(1)
        },
        ..Xie20Config::default()
    }
}

fn cases() -> Vec<Case> {
    let cells = ModelConfig {
        extractor: Extractor::new(4),
        geometry: PatchGeometry {
            base_box_px: 12.0,
            ..model(autoencoder()).geometry
        },
        ..model(autoencoder())
    };
    let regions = ModelConfig {
        extractor: Extractor {
            nms_window_px: 3,
            ..Extractor::new(2)
        },
        ..model(classifier())
    };
    let masks = |name, top_k| Case {
        name,
        method: Box::new(of_masks(top_k)),
        model: regions.clone(),
        left: 0.7,
    };
    let channelwise = |name, task, left| Case {
        name,
        method: Box::new(ChannelwiseConfig::default()),
        model: model(task),
        left,
    };
    vec![
        Case {
            name: "grid",
            method: Box::new(GridConfig { cells: 2 }),
            model: cells,
            left: 0.7,
        },
        channelwise("channelwise, redrawing", autoencoder(), 0.9),
        channelwise("channelwise, classifying", classifier(), 0.7),
        masks("closed form", SoftTopK::ClosedForm),
        masks("sinkhorn", SoftTopK::Sinkhorn { iterations: 50 }),
        masks("lap sum", SoftTopK::LapSum),
        masks("perturbed", SoftTopK::Perturbed { samples: 50 }),
    ]
}

fn learner(case: &Case) -> Box<dyn Learner> {
    let start = |setup: mist::training::Setup<'_>| case.method.learner(setup).unwrap();
    with_model(&case.model, case.method.networks(), start)
}

#[test]
fn short_trainings_lower_the_loss() {
    for case in cases() {
        let losses = train(learner(&case).as_mut(), 60);
        let (early, late) = (losses[0], losses[59]);
        assert!(late < case.left * early, "{}: {early} to {late}", case.name);
    }
}

#[test]
fn restored_trainings_continue_to_the_bit() {
    for case in cases() {
        let mut whole = learner(&case);
        train(whole.as_mut(), 5);
        let mut first = learner(&case);
        train(first.as_mut(), 2);
        let (state, _) = LearnerState::from_bytes(&bytes(first.as_ref())).unwrap();
        let mut second = learner(&case);
        second.restore(state).unwrap();
        train(second.as_mut(), 3);
        assert_eq!(
            bytes(whole.as_ref()),
            bytes(second.as_ref()),
            "{}",
            case.name
        );
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    for case in cases() {
        let trained = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                let mut learner = learner(&case);
                train(learner.as_mut(), 3);
                bytes(learner.as_ref())
            })
        };
        let one = trained(1);
        assert!(
            [2, 4].iter().all(|&threads| trained(threads) == one),
            "{}",
            case.name
        );
    }
}

#[test]
fn what_was_learnt_is_found_again_from_its_weights() {
    let device = Device::flex();
    for case in cases() {
        let mut learner = learner(&case);
        train(learner.as_mut(), 2);
        let finder = learner.finder(&device).unwrap();
        let k = [finder.instances(), 0, 1];
        let found = finder.find(images(3, &device), &k).unwrap();
        let lengths: Vec<usize> = found.iter().map(Vec::len).collect();
        assert_eq!(lengths, k, "{}", case.name);
        let weights = finder.to_safetensors().unwrap();
        let again = case
            .method
            .load(&case.model, &weights, None, &device)
            .unwrap();
        assert_eq!(again.find(images(3, &device), &k).unwrap(), found);
        let redrawn = finder.redraw(images(3, &device), &found).unwrap();
        assert_eq!(redrawn.is_some(), finder.classes().is_none());
        let heatmap = finder.heatmap(images(3, &device)).unwrap();
        assert_eq!(heatmap.is_some(), case.name != "grid");
        if let Some(heatmap) = heatmap {
            assert_eq!(heatmap.dims(), [3, 1, SIDE, SIDE]);
            assert!(heatmap.min().into_scalar::<f32>() >= 0.0);
        }
    }
}

#[test]
fn the_grid_s_boxes_are_its_cells() {
    let case = cases().swap_remove(0);
    let finder = learner(&case).finder(&Device::flex()).unwrap();
    let found = finder.find(images(1, &Device::flex()), &[4]).unwrap();
    let bounds: Vec<PixelBox> = found[0].iter().map(|found| found.bounds).collect();
    let centres = [(6.0, 6.0), (18.0, 6.0), (6.0, 18.0), (18.0, 18.0)];
    let cells = centres.map(|(x, y)| PixelBox::from_centre(x, y, 12.0, 12.0));
    assert_eq!(bounds, cells);
}

#[test]
fn what_a_method_cannot_train_is_refused() {
    let with_context = |mut model: ModelConfig| {
        model.geometry.context_px = 1.0;
        model
    };
    let grid = GridConfig { cells: 2 };
    assert!(grid.check(&cases().swap_remove(0).model).is_ok());
    assert!(
        grid.check(&with_context(cases().swap_remove(0).model))
            .is_err()
    );
    assert!(grid.check(&model(classifier())).is_err());
    let masks = of_masks(SoftTopK::ClosedForm);
    assert!(Method::check(&masks, &model(classifier())).is_ok());
    assert!(Method::check(&masks, &model(autoencoder())).is_err());
    let mut unknown = batch(6);
    unknown.class_counts = None;
    let mut cases = cases();
    let mut of_masks = learner(&cases.swap_remove(3));
    assert!(of_masks.step(&unknown, START).is_err());
}
