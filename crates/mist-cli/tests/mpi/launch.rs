//! Starting ranks and looking at them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::skipped;

/// A training of a few seconds with a checkpoint at almost every moment.
const TINY: &[&str] = &[
    "steps=24",
    "batch=4",
    "every.log=1",
    "every.checkpoint=3",
    "every.sample=12",
    "every.validation=24",
    "model.detector.channels=8",
    "model.detector.blocks=2",
    "method.lifted.proposals.steps=6",
];

/// Steps of it.
const STEPS: usize = 24;

/// So many ranks, and what each is told.
pub type Group = (usize, Vec<String>);

/// The program that speaks MPI, if it and a launcher are here.
pub fn carrier(test: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_BIN_EXE_mist")).with_file_name("mist-mpi");
    let named = std::env::var_os("MIST_MPI").map_or(beside, PathBuf::from);
    let launcher = Command::new("mpirun").arg("--version").output();
    if named.is_file() && launcher.is_ok() {
        return Some(named);
    }
    skipped::skip(test, "mpirun or mist-mpi is missing: scripts/setup-mpi.sh");
    None
}

pub fn settings(changes: &[&str]) -> Vec<String> {
    let all = TINY.iter().chain(changes);
    all.flat_map(|setting| ["--set".to_owned(), (*setting).to_owned()])
        .collect()
}

/// What to tell `mist` to train in `out`.
pub fn words(out: &Path, more: &[String]) -> Vec<String> {
    let mut words = ["train", "glyphs-demo", "-q", "--out"]
        .map(str::to_owned)
        .to_vec();
    words.push(out.display().to_string());
    words.extend_from_slice(more);
    words
}

/// Ranks that train in `out`.
pub fn ranks(size: usize, out: &Path, more: &[String]) -> Group {
    (size, words(out, more))
}

/// A training by one process without a launcher.
pub fn single(out: &Path, more: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mist"));
    command.args(words(out, more));
    command
}

/// A launcher that shares two processors among all ranks.
pub fn mpirun(carrier: &Path) -> Command {
    let mut command = Command::new("mpirun");
    command.args([
        "--allow-run-as-root",
        "--oversubscribe",
        "--bind-to",
        "none",
    ]);
    command
        .env("MIST_MPI", carrier)
        .env("RAYON_NUM_THREADS", "1")
        .env("MIST_MPI_TIMEOUT_SECS", "5");
    command
}

/// `mpirun` of one or more groups, whose ranks are numbered on.
pub fn launch(carrier: &Path, groups: &[Group]) -> Command {
    let mut command = mpirun(carrier);
    for (index, (size, words)) in groups.iter().enumerate() {
        if index > 0 {
            command.arg(":");
        }
        command.args(["-n", &size.to_string(), env!("CARGO_BIN_EXE_mist")]);
        command.args(words);
    }
    command
}

/// Runs a command that must succeed.
pub fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", message(&output));
    output
}

pub fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn weights(run: &Path) -> Vec<u8> {
    fs::read(run.join("weights/last.safetensors")).unwrap()
}

/// The process of a rank that trains in `out`, once it is there.
pub fn process_of(rank: usize, out: &Path) -> Option<u32> {
    let wanted = format!("OMPI_COMM_WORLD_RANK={rank}");
    let holds = |path: PathBuf, text: &str| {
        let bytes = fs::read(path).unwrap_or_default();
        bytes
            .split(|byte| *byte == 0)
            .any(|part| part == text.as_bytes())
    };
    fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let id: u32 = entry.file_name().to_str()?.parse().ok()?;
        let is_mist = fs::read_to_string(entry.path().join("comm")).ok()?.trim() == "mist";
        let is_rank = holds(entry.path().join("environ"), &wanted);
        let trains = holds(entry.path().join("cmdline"), &out.display().to_string());
        (is_mist && is_rank && trains).then_some(id)
    })
}

pub fn signal(name: &str, process: u32) {
    let kill = Command::new("kill")
        .args(["-s", name, &process.to_string()])
        .status();
    assert!(kill.unwrap().success());
}

/// Waits until the run has so many lines of metrics, or all that it will have.
pub fn wait_for_lines(run: &Path, count: usize) {
    let begun = Instant::now();
    while lines(run) < count.min(STEPS) {
        assert!(begun.elapsed() < Duration::from_secs(240), "no progress");
        sleep(Duration::from_millis(3));
    }
}

/// Waits until no rank is left; the launcher may end before them.
pub fn wait_for_end(out: &Path) {
    let begun = Instant::now();
    while (0..4).any(|rank| process_of(rank, out).is_some()) {
        assert!(begun.elapsed() < Duration::from_secs(60), "a rank lives on");
        sleep(Duration::from_millis(20));
    }
}

/// Lines of metrics so far.
pub fn lines(run: &Path) -> usize {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap_or_default();
    text.lines().count()
}
