//! Trainings on ranks that an MPI launcher starts: the same weights as one process, and an end to all when one fails.
//!
//! They need `mpirun` and `mist-mpi`, and are run by `scripts/test-mpi.sh`.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../mist-data/tests/skipped/mod.rs"]
mod skipped;

mod faults;
mod hosts;
mod launch;

use std::path::Path;
use std::process::{Command, Stdio};

use launch::{
    carrier, done, launch, message, mpirun, process_of, ranks, settings, signal, single,
    wait_for_lines, weights,
};

#[test]
fn any_number_of_ranks_learns_what_one_process_learns() {
    let Some(carrier) = carrier("any_number_of_ranks_learns_what_one_process_learns") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    done(&mut single(&at("single"), &settings(&[])));
    for size in [2, 4] {
        let out = at(&format!("on-{size}"));
        let output = done(&mut launch(&carrier, &[ranks(size, &out, &settings(&[]))]));
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1);
        assert!(weights(&out) == weights(&at("single")), "{size} ranks");
        let lines = std::fs::read_to_string(out.join("metrics.jsonl")).unwrap();
        assert!(
            lines.contains("comm_bytes") && lines.contains("comm_ms"),
            "{lines}"
        );
    }
}

#[test]
fn ranks_of_different_trainings_refuse_to_start() {
    let Some(carrier) = carrier("ranks_of_different_trainings_refuse_to_start") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("run");
    let first = ranks(1, &out, &settings(&[]));
    let second = ranks(1, &out, &settings(&["optimiser.task.clip_norm=3.5"]));
    let output = launch(&carrier, &[first, second]).output().unwrap();
    let told = message(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("rank 1 cannot take part") && told.contains("clip_norm = 3.5"),
        "{told}"
    );
    assert!(!out.join("checkpoints/last.ckpt").exists());

    let folder = |name: &str, bright: f32| {
        let folder = directory.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        let mut image = mist_data::Image::filled(48, 48, 1, 0.0);
        for row in 20..28 {
            image.pixels[row * 48 + 10..][..8].fill(bright);
        }
        for index in 0..4 {
            mist_data::write_png(&folder.join(format!("{index}.png")), &image).unwrap();
        }
        folder
    };
    let seen = |images: &Path| {
        let words = [
            "train",
            "--images",
            images.to_str().unwrap(),
            "--instances",
            "3",
            "--object-px",
            "8",
            "-q",
        ];
        let mut words: Vec<String> = words.map(str::to_owned).to_vec();
        words.extend([
            "--out".to_owned(),
            directory.path().join("other").display().to_string(),
        ]);
        (1, words)
    };
    let (one, other) = (folder("one", 1.0), folder("two", 0.8));
    let output = launch(&carrier, &[seen(&one), seen(&other)])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", message(&output));
    assert!(message(&output).contains("rank 1"), "{}", message(&output));
}

#[test]
fn the_job_file_of_slurm_trains_saves_when_told_and_goes_on() {
    const NAME: &str = "the_job_file_of_slurm_trains_saves_when_told_and_goes_on";
    let Some(carrier) = carrier(NAME) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    done(&mut single(&at("whole"), &settings(&[])));
    let recipe = at("recipe.toml");
    std::fs::copy(at("whole/config.toml"), &recipe).unwrap();
    let run = at("run");
    let job = || {
        let inner = mpirun(&carrier);
        let words = inner
            .get_args()
            .map(|word| word.to_string_lossy().into_owned());
        let launcher: Vec<String> = words.collect();
        let mut command = Command::new("bash");
        command.arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../examples/train.sbatch"
        ));
        for (name, value) in inner.get_envs() {
            command.env(name, value.unwrap());
        }
        command
            .env("LAUNCHER", format!("mpirun {} -n 2", launcher.join(" ")))
            .env("PATH", path_with_mist())
            .env("SLURM_CPUS_PER_TASK", "1")
            .env("RECIPE", &recipe)
            .env("RUN", &run)
            .stdout(Stdio::null());
        command
    };
    let child = job().stderr(Stdio::piped()).spawn().unwrap();
    wait_for_lines(&run, 4);
    // To the ranks, as Slurm does; one of them hears it first.
    for rank in 0..2 {
        if let Some(process) = process_of(rank, &run) {
            signal("TERM", process);
        }
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", message(&output));
    let log = std::fs::read_to_string(run.join("log.jsonl")).unwrap();
    assert!(log.contains("interrupted"), "{log}");
    done(&mut job());
    assert!(weights(&run) == weights(&at("whole")));
}

#[test]
fn a_launcher_alone_shares_a_search() {
    let Some(carrier) = carrier("a_launcher_alone_shares_a_search") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let mist = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mist"));
        done(command.args(words).current_dir(directory.path()))
    };
    mist(&[
        "data", "generate", "glyphs", "--out", "scenes", "--count", "12",
    ]);
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mnist-hard");
    mist(&[
        "detect",
        model,
        "scenes/images",
        "--format",
        "csv",
        "--out",
        "whole.csv",
    ]);
    let inner = mpirun(&carrier);
    let mut command = Command::new("sh");
    command.arg(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/detect-mpirun.sh"
    ));
    command
        .args(inner.get_args())
        .args(["-n", "3"])
        .current_dir(directory.path());
    command.env("PATH", path_with_mist()).envs([
        ("MODEL", model),
        ("IMAGES", "scenes/images"),
        ("OUT", "found.csv"),
    ]);
    done(&mut command);
    let read = |name: &str| std::fs::read(at(name)).unwrap();
    assert!(read("found.csv") == read("whole.csv"));
}

/// `mist` as job files call it.
fn path_with_mist() -> String {
    let directory = Path::new(env!("CARGO_BIN_EXE_mist")).parent().unwrap();
    format!(
        "{}:{}",
        directory.display(),
        std::env::var("PATH").unwrap_or_default()
    )
}
