//! What a resume reads again: damage in it is told, and costs nothing else.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{checkpoint, done, message, mist, resume, train};

fn lines(run: &Path) -> Vec<String> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Resumes and gives what is told.
fn resumed(run: &Path) -> String {
    let mut command = mist();
    command.args(["train", "glyphs-demo", "--resume", "--out"]);
    message(&done(command.arg(run)))
}

#[test]
fn a_damaged_line_is_left_out_and_counted() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    done(&mut train(&run, &["steps=6"]));
    let mut expected = lines(&run);
    let mut damaged = expected.clone();
    damaged[2].truncate(10);
    fs::write(run.join("metrics.jsonl"), damaged.join("\n") + "\n").unwrap();
    let told = resumed(&run);
    assert!(told.contains("damaged lines left out: 1"), "{told}");
    expected.remove(2);
    assert_eq!(lines(&run), expected);
}

#[test]
fn a_damaged_picture_is_left_out_and_told() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    done(&mut train(&run, &["steps=2", "every.sample=1"]));
    fs::write(run.join("samples/step-0000001.png"), b"no picture").unwrap();
    let told = resumed(&run);
    assert!(told.contains("step-0000001.png"), "{told}");
}

#[test]
fn a_resume_without_a_checkpoint_says_that_it_starts_anew() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    done(&mut train(&run, &["steps=2"]));
    fs::remove_file(checkpoint(&run)).unwrap();
    let told = resumed(&run);
    assert!(
        told.contains("no checkpoint") && told.contains("step 0"),
        "{told}"
    );
}

/// Validations tie at 245 of 2304, a number that a careless reader of JSON rounds up.
#[test]
fn the_best_weights_are_those_of_a_run_that_was_not_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let supervised = |out: &Path, settings: &[&str]| -> Command {
        let shared = [
            "scenes=glyphs",
            "seed=29",
            "batch=8",
            "every.log=1",
            "every.sample=200",
            "model.detector.channels=8",
            "model.detector.blocks=2",
            "model.geometry.patch_px=16",
        ];
        let mut command = mist();
        command.args(["train", "mnist-hard-supervised", "-q", "--out"]);
        command.arg(out);
        for setting in shared.iter().chain(settings) {
            command.args(["--set", setting]);
        }
        command
    };
    let quick = [
        "steps=6",
        "every.validation=100",
        "optimiser.task.adam.rate=0.002",
        "optimiser.detector.adam.rate=0.003",
        "optimiser.task.averaging=0.0",
        "optimiser.detector.averaging=0.0",
    ];
    // Too slow to change a detection, fast enough to change weights.
    let slow = [
        "steps=2",
        "every.validation=1",
        "optimiser.task.adam.rate=1e-9",
        "optimiser.detector.adam.rate=1e-9",
    ];
    let (start, whole, stopped) = (path("start"), path("whole"), path("stopped"));
    done(&mut supervised(&start, &quick));
    done(supervised(&whole, &slow).arg("--from").arg(&start));
    let mut first_step = supervised(&stopped, &slow);
    first_step.arg("--from").arg(&start);
    done(first_step.args(["--budget", "0s"]));
    let best = |run: &Path| fs::read(run.join("weights/best.safetensors")).unwrap();
    let after_one_step = best(&stopped);
    done(&mut resume(&stopped));
    assert!(best(&whole) != after_one_step, "the last tie is kept");
    assert!(best(&stopped) == best(&whole));
}
