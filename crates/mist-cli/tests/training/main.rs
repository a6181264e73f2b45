//! Trainings that are killed, stopped, damaged and starved: none loses a checkpoint or changes a weight.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod diverged;
mod locked;
mod resumed;
mod signalled;
mod started;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A training of a few seconds with a checkpoint at almost every moment.
const TINY: &[&str] = &[
    "steps=40",
    "batch=2",
    "every.log=1",
    "every.checkpoint=3",
    "every.sample=20",
    "every.validation=20",
    "model.detector.channels=8",
    "model.detector.blocks=2",
    "method.lifted.seeded_steps=10",
];

fn mist() -> Command {
    Command::new(env!("CARGO_BIN_EXE_mist"))
}

fn train(out: &Path, settings: &[&str]) -> Command {
    let mut command = mist();
    command
        .args(["train", "glyphs-demo", "-q", "--out"])
        .arg(out);
    for setting in TINY.iter().chain(settings) {
        command.args(["--set", setting]);
    }
    command
}

fn resume(out: &Path) -> Command {
    let mut command = mist();
    command.args(["train", "glyphs-demo", "-q", "--resume", "--out"]);
    command.arg(out);
    command
}

fn weights(run: &Path) -> Vec<u8> {
    fs::read(run.join("weights/last.safetensors")).unwrap()
}

fn checkpoint(run: &Path) -> PathBuf {
    run.join("checkpoints/last.ckpt")
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Waits until the run has written `lines` lines of metrics.
fn wait_for_lines(run: &Path, lines: usize) {
    let begun = Instant::now();
    loop {
        let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap_or_default();
        if text.lines().count() >= lines {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "no progress");
        sleep(Duration::from_millis(5));
    }
}

/// Runs a command that must succeed.
fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", message(&output));
    output
}

fn send(signal: &str, child: &Child) {
    let id = child.id().to_string();
    let kill = Command::new("kill").args(["-s", signal, &id]).status();
    assert!(kill.unwrap().success());
}

fn code(status: ExitStatus) -> Option<i32> {
    status.code()
}

/// How often the killing test kills; `MIST_KILLS=50` is the long form.
fn kills() -> usize {
    let asked = std::env::var("MIST_KILLS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(5)
}

#[test]
fn killed_and_resumed_runs_end_with_the_same_weights() {
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("whole");
    let begun = Instant::now();
    assert!(
        train(&whole, &[])
            .stdout(Stdio::null())
            .status()
            .unwrap()
            .success()
    );
    let length = begun.elapsed();
    let expected = weights(&whole);
    let curve = |run: &Path| -> Vec<(u64, f64)> {
        let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let point = |line: serde_json::Value| {
            (
                line["step"].as_u64().unwrap(),
                line["task_loss"].as_f64().unwrap(),
            )
        };
        lines.map(point).collect()
    };

    let killed = directory.path().join("killed");
    let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut interrupted = 0;
    for attempt in 0.. {
        let mut command = if killed.join("config.toml").exists() {
            resume(&killed)
        } else {
            let _ = fs::remove_dir_all(&killed);
            train(&killed, &[])
        };
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        if interrupted < kills() {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            sleep(length.mul_f64((random >> 40) as f64 / f64::from(1 << 24) * 0.5));
            child.kill().unwrap();
        }
        let status = child.wait().unwrap();
        if status.success() {
            if interrupted < kills() {
                // It finished before the kill: begin again, there are kills left.
                assert!(weights(&killed) == expected);
                fs::remove_dir_all(&killed).unwrap();
                continue;
            }
            break;
        }
        assert_eq!(code(status), None, "attempt {attempt} ended by itself");
        interrupted += 1;
    }
    assert_eq!(interrupted, kills());
    assert!(weights(&killed) == expected);
    assert_eq!(curve(&killed), curve(&whole));
}

#[test]
fn a_kill_between_the_last_checkpoint_and_its_weights_costs_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    assert!(train(&run, &[]).output().unwrap().status.success());
    let expected = weights(&run);
    fs::write(run.join("weights/last.safetensors"), b"older weights").unwrap();
    assert!(resume(&run).output().unwrap().status.success());
    assert!(weights(&run) == expected);
}

#[test]
fn a_training_starts_from_a_model_and_goes_on_without_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let still = [
        "steps=3",
        "seed=2",
        "optimiser.detector.adam.rate=0.0",
        "optimiser.task.adam.rate=0.0",
        "optimiser.detector.averaging=0.0",
        "optimiser.task.averaging=0.0",
    ];
    let (first, second, other) = (path("first"), path("second"), path("other"));
    done(&mut train(&first, &["steps=3"]));
    done(train(&second, &still).arg("--from").arg(&first));
    done(&mut train(&other, &still));
    // Running statistics of norms change whatever the rates are.
    let shared = |run: &Path| {
        let pairs = weights(run).into_iter().zip(weights(&first));
        let (same, all) = pairs.fold((0, 0), |(same, all), (a, b)| {
            (same + usize::from(a == b), all + 1)
        });
        same as f64 / f64::from(all)
    };
    assert!(shared(&second) > 0.95, "{}", shared(&second));
    assert!(shared(&other) < 0.5, "{}", shared(&other));

    let wider = ["model.detector.channels=16"];
    let mut mistaken = train(&path("third"), &wider);
    let output = mistaken.arg("--from").arg(&first).output().unwrap();
    assert_ne!(code(output.status), Some(0));
    assert!(message(&output).contains("start"), "{}", message(&output));
    assert!(!path("third").exists());

    fs::remove_dir_all(&first).unwrap();
    done(&mut resume(&second));
}

#[test]
fn a_flipped_byte_falls_back_and_the_end_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    assert!(
        train(&run, &[])
            .stdout(Stdio::null())
            .status()
            .unwrap()
            .success()
    );
    let expected = weights(&run);
    let mut bytes = fs::read(checkpoint(&run)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(checkpoint(&run), &bytes).unwrap();
    fs::remove_file(run.join("weights/last.safetensors")).unwrap();
    let mut command = resume(&run);
    command.args(["--budget", "10m"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", message(&output));
    assert_eq!(weights(&run), expected);

    for name in ["last.ckpt", "previous.ckpt"] {
        fs::write(run.join("checkpoints").join(name), b"MISTCKP1 nothing").unwrap();
    }
    let output = resume(&run).output().unwrap();
    assert_eq!(code(output.status), Some(5), "{}", message(&output));
    assert!(message(&output).contains("no checkpoint"));
}

/// A limit on file sizes stands for a full disk: writes fail half-way.
#[test]
fn a_full_disk_keeps_the_last_good_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let output = train(&run, &["steps=3"]).output().unwrap();
    assert!(output.status.success(), "{}", message(&output));
    let good = fs::read(checkpoint(&run)).unwrap();
    let config = run.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("steps = 3\n", "steps = 6\n")).unwrap();
    let kilobytes = good.len() / 1024 / 2;
    let script = format!(
        "trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" train glyphs-demo -q --resume --out \"$1\""
    );
    let output = Command::new("bash")
        .args(["-c", &script, env!("CARGO_BIN_EXE_mist")])
        .arg(&run)
        .output()
        .unwrap();
    assert_eq!(code(output.status), Some(3), "{}", message(&output));
    assert!(message(&output).contains("cannot write"));
    assert_eq!(fs::read(checkpoint(&run)).unwrap(), good);
    let output = resume(&run).output().unwrap();
    assert!(output.status.success(), "{}", message(&output));
}

#[test]
fn bad_recipes_and_runs_say_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let cases: [(&[&str], &str); 7] = [
        (&["bacth=3"], "batch"),
        (&["batch=100000000"], "memory"),
        (&["scenes=nothing"], "scenes"),
        (&["model.softmax.window_px=4"], "odd"),
        (&["model.geometry.base_box_px=-3.0"], "positive"),
        (&["model.task.classifier.classes=3"], "have 10"),
        (&["model.geometry.patch_px=7"], "max-pool"),
    ];
    for (settings, expected) in cases {
        let output = train(&run, settings).output().unwrap();
        let text = message(&output);
        assert_eq!(code(output.status), Some(2), "{settings:?}: {text}");
        assert!(text.contains(expected), "{settings:?}: {text}");
        assert!(!run.exists(), "{settings:?} left a run behind");
    }
    let output = resume(&run).output().unwrap();
    assert_eq!(code(output.status), Some(2));
    assert!(train(&run, &["steps=1"]).output().unwrap().status.success());
    let again = train(&run, &["steps=1"]).output().unwrap();
    assert_eq!(code(again.status), Some(2));
    assert!(message(&again).contains("--resume"));
}
