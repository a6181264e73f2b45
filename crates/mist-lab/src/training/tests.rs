//! The loop with a method that knows no detector and no task network.

use std::fs;
use std::path::Path;

use mist::device::Compute;
use mist::ranks::Alone;

use super::*;
use crate::observer::Silent;

const RECIPE: &str = r#"
experiment = "toy"
dataset = "glyphs"
seed = 7
steps = 6
batch = 2
every = { log = 2, checkpoint = 3, sample = 6, validation = 6, snapshot = 3 }

[method.toy]
learning_rate = 0.25

[model.task.classifier]
classes = 10
encoder = { base_channels = 4, blocks_per_level = 1 }
"#;

fn options(stop: &dyn Fn() -> Option<i32>) -> TrainOptions<'_> {
    TrainOptions {
        device: Compute::Cpu.device().unwrap(),
        budget: None,
        data: None,
        stop,
        communicator: Arc::new(Alone),
    }
}

fn new_run(out: &Path) -> RunDirectory {
    let recipe = Recipe::from_resolved(RECIPE).unwrap();
    create_run(&recipe, Some(out), &options(&|| None)).unwrap()
}

#[test]
fn a_new_method_needs_no_change_in_loop_logs_or_checkpoints() {
    let directory = tempfile::tempdir().unwrap();
    let whole = new_run(&directory.path().join("whole"));
    assert_eq!(
        train(&whole, &options(&|| None), &mut Silent).unwrap(),
        End::Done
    );
    let metrics = fs::read_to_string(whole.metrics()).unwrap();
    assert!(metrics.contains("brightness_error"), "{metrics}");
    assert_eq!(metrics.lines().count(), 3);
    assert!(whole.samples().join("step-0000006.png").is_file());

    let stopped = new_run(&directory.path().join("stopped"));
    let interrupted = train(&stopped, &options(&|| Some(2)), &mut Silent);
    assert!(matches!(interrupted, Err(Error::Interrupted(2))));
    train(&stopped, &options(&|| None), &mut Silent).unwrap();
    let weights = |run: &RunDirectory| fs::read(run.weights().join("last.safetensors")).unwrap();
    assert_eq!(weights(&stopped), weights(&whole));

    let device = Compute::Cpu.device().unwrap();
    let loaded = models::load(whole.root(), models::Choice::Last, &device).unwrap();
    assert_eq!(loaded.card.method, "toy");
    assert_eq!(loaded.finder.classes(), None);

    let kept = |step| {
        let loaded = models::load(whole.root(), models::Choice::Step(step), &device);
        loaded.map(|loaded| loaded.finder.to_safetensors().unwrap())
    };
    assert_eq!(kept(6).unwrap(), loaded.finder.to_safetensors().unwrap());
    assert!(kept(0).unwrap() != kept(3).unwrap() && kept(3).unwrap() != kept(6).unwrap());
    assert!(kept(4).is_err());
}

#[test]
fn optimisers_of_another_method_are_refused() {
    let text = RECIPE.replace("[method.toy]", "[optimiser.detector]\n[method.toy]");
    let message = Recipe::from_resolved(&text).unwrap_err().to_string();
    assert!(message.contains("brightness"), "{message}");
}

mod ranks;
