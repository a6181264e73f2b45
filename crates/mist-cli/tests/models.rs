//! The models that come with the project do what their cards say.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

#[path = "../../mist-data/tests/skipped/mod.rs"]
mod skipped;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

// Two hundred test scenes say little about the last percent: these are for weights that do not belong to the code.
const LEAST_BOTH: f64 = 0.98;
const LEAST_FOUND: f64 = 0.99;
const LARGEST_RMSE: f64 = 0.05;
const LEAST_IMPULSES: f64 = 0.5;
const LEAST_LIKENESS: f64 = 0.98;

/// What `mist eval` says of a model on 200 test scenes; `None` without MNIST, where it need not be.
fn judged(test: &str, model: &str) -> Option<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_mist"))
        .args(["eval", model, "--count", "200", "--json"])
        .current_dir(root())
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    if message.contains("MNIST was not found") {
        skipped::skip(test, &message);
        return None;
    }
    assert!(output.status.success(), "{message}");
    let mut found: Value = serde_json::from_slice(&output.stdout).unwrap();
    Some(found["metrics"].take())
}

#[test]
fn mnist_hard_finds_and_reads_digits() {
    if let Some(metrics) = judged("mnist_hard_finds_and_reads_digits", "models/mnist-hard") {
        let both = metrics["both"].as_f64().unwrap();
        assert!(both >= LEAST_BOTH, "{both}");
    }
}

#[test]
fn mnist_hard_reconstruct_finds_and_redraws_digits() {
    if let Some(metrics) = judged(
        "mnist_hard_reconstruct_finds_and_redraws_digits",
        "models/mnist-hard-reconstruct",
    ) {
        let (found, rmse) = (&metrics["iou50"], &metrics["rmse"]);
        assert!(found.as_f64().unwrap() >= LEAST_FOUND, "{found}");
        assert!(rmse.as_f64().unwrap() <= LARGEST_RMSE, "{rmse}");
    }
}

#[test]
fn gabor_takes_noise_apart() {
    let metrics = judged("gabor_takes_noise_apart", "models/gabor").expect("noise needs no data");
    let least = |name: &str, value: f64| {
        let found = metrics[name].as_f64().unwrap();
        assert!(found >= value, "{name} {found}");
    };
    let rmse = metrics["rmse"].as_f64().unwrap();
    assert!(rmse <= LARGEST_RMSE, "{rmse}");
    least("impulse_recall", LEAST_IMPULSES);
    least("kernel_corr", LEAST_LIKENESS);
}

/// Runs the program, which must succeed, and gives what it printed.
fn mist(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_mist"))
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {message}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn detections_of_a_drawn_scene_are_printed_and_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (scenes, overlays) = (path("scenes"), path("overlays"));
    mist(&[
        "data", "generate", "glyphs", "--count", "2", "--out", &scenes,
    ]);
    let images = format!("{scenes}/images");
    let printed = mist(&[
        "detect",
        "models/mnist-hard",
        &images,
        "--instances",
        "5",
        "--overlay",
        &overlays,
    ]);
    let found: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(found.as_array().unwrap().len(), 2);
    assert_eq!(found[0]["detections"].as_array().unwrap().len(), 5);
    assert_eq!(std::fs::read_dir(&overlays).unwrap().count(), 2);

    let missing = Command::new(env!("CARGO_BIN_EXE_mist"))
        .args(["detect", "models/mnist-hard", "no-such-file.png"])
        .current_dir(root())
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(3));
}

#[test]
fn a_model_trained_by_reconstruction_redraws_images_and_a_reader_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (scenes, run, redrawn, sheet) = (
        path("scenes"),
        path("run"),
        path("redrawn"),
        path("sheet.png"),
    );
    let settings = [
        "dataset=\"glyphs\"",
        "steps=2",
        "batch=2",
        "model.detector.blocks=1",
        "model.task.autoencoder.encoder.base_channels=4",
    ];
    let mut train = vec!["train", "mnist-hard-reconstruct", "-q", "--out", &run];
    train.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    mist(&train);
    mist(&[
        "data", "generate", "glyphs", "--count", "2", "--out", &scenes,
    ]);
    let images = format!("{scenes}/images");
    mist(&["detect", &run, &images, "--redrawn", &redrawn]);
    assert_eq!(std::fs::read_dir(&redrawn).unwrap().count(), 2);
    let printed = mist(&["eval", &run, "--count", "8", "--sheet", &sheet, "--json"]);
    let judged: Value = serde_json::from_str(&printed).unwrap();
    assert!(judged["metrics"]["rmse"].is_number());
    assert!(judged["metrics"]["both"].is_null());
    assert!(std::fs::metadata(&sheet).unwrap().len() > 0);

    let reader = Command::new(env!("CARGO_BIN_EXE_mist"))
        .args([
            "detect",
            "models/mnist-hard",
            &images,
            "--redrawn",
            &redrawn,
        ])
        .current_dir(root())
        .output()
        .unwrap();
    assert_eq!(reader.status.code(), Some(2));
}
