//! Trainings that diverge end with their own exit code and never cost a good checkpoint.

use std::fs;

use super::{checkpoint, code, done, message, resume, train};

#[test]
fn a_loss_that_is_not_finite_stops_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let settings = [
        "optimiser.task.adam.rate=1e30",
        "optimiser.detector.adam.rate=1e30",
        "every.checkpoint=1",
    ];
    let output = train(&run, &settings).output().unwrap();
    assert_eq!(code(output.status), Some(4), "{}", message(&output));
    let text = message(&output);
    assert!(text.contains("step") && text.contains("scene"), "{text}");
    let output = resume(&run).output().unwrap();
    assert_eq!(
        code(output.status),
        Some(4),
        "the checkpoint is whole: {}",
        message(&output)
    );
}

#[test]
fn divergence_first_seen_on_held_out_scenes_is_divergence() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let settings = [
        "optimiser.task.adam.rate=1e30",
        "optimiser.detector.adam.rate=1e30",
        "optimiser.detector.averaging=0.0",
        "every.validation=1",
        "every.checkpoint=1",
    ];
    let output = train(&run, &settings).output().unwrap();
    let text = message(&output);
    assert_eq!(code(output.status), Some(4), "{text}");
    assert!(text.contains("held-out"), "{text}");
    assert!(text.contains("no checkpoint yet"), "{text}");
    assert!(!checkpoint(&run).exists());
    let log = fs::read_to_string(run.join("log.jsonl")).unwrap();
    assert!(log.contains("diverged"), "{log}");
}

#[test]
fn a_state_that_is_not_finite_replaces_no_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    done(&mut train(&run, &["steps=3"]));
    let good = fs::read(checkpoint(&run)).unwrap();
    let config = run.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    let longer = text.replace("steps = 3\n", "steps = 6\n");
    // Squares of such gradients are infinite, the loss itself is not.
    let steep = longer.replace("task_loss_factor = 1.0\n", "task_loss_factor = 1e30\n");
    assert_ne!(longer, steep);
    fs::write(&config, steep).unwrap();
    let output = resume(&run).output().unwrap();
    let told = message(&output);
    assert_eq!(code(output.status), Some(4), "{told}");
    assert!(told.contains("last good checkpoint is kept"), "{told}");
    assert_eq!(fs::read(checkpoint(&run)).unwrap(), good);
    fs::write(&config, longer).unwrap();
    done(&mut resume(&run));
}
