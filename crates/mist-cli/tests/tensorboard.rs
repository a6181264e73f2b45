//! TensorBoard itself reads what a training wrote, also after a resume.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

#[path = "../../mist-data/tests/skipped/mod.rs"]
mod skipped;

#[test]
fn tensorboard_reads_scalars_and_pictures() {
    let Some(python) = std::env::var_os("MIST_TENSORBOARD_PYTHON") else {
        skipped::skip(
            "tensorboard_reads_scalars_and_pictures",
            "MIST_TENSORBOARD_PYTHON is not set (scripts/setup-tensorboard.sh prints it)",
        );
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let train = |arguments: &[&str]| {
        let status = Command::new(env!("CARGO_BIN_EXE_mist"))
            .args(["train", "glyphs-demo", "-q", "--out"])
            .arg(&run)
            .args(arguments)
            .stdout(Stdio::null())
            .status();
        assert!(status.unwrap().success());
    };
    let settings = [
        "steps=6",
        "batch=2",
        "every.log=1",
        "every.checkpoint=1",
        "every.sample=3",
        "every.validation=6",
        "model.detector.channels=8",
        "model.detector.blocks=1",
    ];
    let mut arguments: Vec<&str> = settings
        .iter()
        .flat_map(|setting| ["--set", setting])
        .collect();
    arguments.extend(["--budget", "0s"]);
    train(&arguments);
    for _ in 0..4 {
        train(&["--resume", "--budget", "0s"]);
    }
    train(&["--resume"]);

    let script =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../python/tensorboard/check_events.py");
    let output = Command::new(python).arg(script).arg(&run).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let steps = |points: &Value| -> Vec<u64> {
        let points = points.as_array().unwrap().iter();
        points.map(|point| point[0].as_u64().unwrap()).collect()
    };
    assert_eq!(
        steps(&found["scalars"]["train/task_loss"]),
        [1, 2, 3, 4, 5, 6]
    );
    assert_eq!(steps(&found["scalars"]["validation/both"]), [6]);
    let log = std::fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    for (line, point) in log
        .lines()
        .zip(found["scalars"]["train/task_loss"].as_array().unwrap())
    {
        let line: Value = serde_json::from_str(line).unwrap();
        let (logged, read) = (
            line["task_loss"].as_f64().unwrap(),
            point[1].as_f64().unwrap(),
        );
        assert!((logged - read).abs() <= 1e-6 * logged.abs());
    }
    assert_eq!(steps(&found["images"]["sample"]), [3, 6]);
}
