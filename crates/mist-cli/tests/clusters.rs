//! The example jobs of `examples/` with the environment that their schedulers set: shards that are killed and run again make what
//! one run makes.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../mist-data/tests/skipped/mod.rs"]
mod skipped;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use mist_data::{Image, write_png};
use tempfile::TempDir;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const IMAGES: usize = 2000;
const SHARDS: usize = 8;
/// These are killed while they search.
const KILLED: [usize; 2] = [2, 5];

/// A model, images, and what one run finds in them.
struct Place {
    directory: TempDir,
    expected: Vec<u8>,
}

fn place() -> &'static Place {
    static PLACE: OnceLock<Place> = OnceLock::new();
    PLACE.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let settings = [
            "steps=1",
            "batch=1",
            "every.validation=9",
            "model.detector={ channels = 4, blocks = 1 }",
            "model.geometry.patch_px=4",
            "model.task.classifier.encoder={ base_channels = 4, levels = 2, blocks_per_level = 1 }",
        ];
        let mut train = mist(directory.path());
        train.args(["train", "glyphs-demo", "-q", "--out", "model"]);
        for setting in settings {
            train.args(["--set", setting]);
        }
        assert!(train.stdout(Stdio::null()).status().unwrap().success());
        fs::create_dir(at("images")).unwrap();
        for index in 0..IMAGES {
            let mut image = Image::filled(32, 32, 1, 0.0);
            for square in 0..3 {
                let (x, y) = (
                    (index * 7 + square * 11) % 26,
                    (index * 5 + square * 9) % 26,
                );
                for row in y..y + 6 {
                    image.pixels[row * 32 + x..][..6].fill(1.0);
                }
            }
            write_png(&at("images").join(format!("{index:04}.png")), &image).unwrap();
        }
        let mut whole = mist(directory.path());
        whole.args([
            "detect",
            "model",
            "images",
            "--format",
            "csv",
            "--out",
            "whole.csv",
            "-q",
        ]);
        assert!(whole.status().unwrap().success());
        let expected = fs::read(at("whole.csv")).unwrap();
        assert!(expected.iter().filter(|byte| **byte == b'\n').count() > IMAGES);
        Place {
            directory,
            expected,
        }
    })
}

fn mist(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mist"));
    command.current_dir(directory);
    command
}

/// Runs all shards, two of which are killed and run again, and merges them.
fn searched(place: &Place, out: &Path, job: impl Fn(usize) -> Command) {
    let directory = out.parent().unwrap();
    let begun = |shard: usize| {
        let name = format!("found.csv.shard-{}-of-{SHARDS}", shard + 1);
        let entries = fs::read_dir(directory).unwrap().flatten();
        let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.any(|other| other.contains(&name) || other.ends_with(".tmp"))
    };
    let part = |shard: usize| directory.join(format!("found.csv.shard-{}-of-{SHARDS}", shard + 1));
    for shard in 0..SHARDS {
        if KILLED.contains(&shard) {
            // One that was faster than the kill is no trial.
            let struck = (0..50).any(|_| {
                let _ = fs::remove_file(part(shard));
                let mut child = job(shard).stderr(Stdio::null()).spawn().unwrap();
                let started = Instant::now();
                while !begun(shard) {
                    assert!(
                        started.elapsed() < Duration::from_secs(120),
                        "shard {shard} does nothing"
                    );
                    sleep(Duration::from_millis(1));
                }
                child.kill().unwrap();
                child.wait().unwrap();
                !part(shard).exists()
            });
            assert!(struck, "half a shard shows");
        }
        let output = job(shard).output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(part(shard).exists());
    }
    let mut merge = mist(directory);
    merge
        .arg("merge")
        .args((0..SHARDS).map(part))
        .arg("--out")
        .arg(out);
    assert!(merge.stderr(Stdio::null()).status().unwrap().success());
    assert!(fs::read(out).unwrap() == place.expected);
}

/// `mist` as the jobs call it.
fn path_with_mist() -> String {
    let directory = Path::new(env!("CARGO_BIN_EXE_mist")).parent().unwrap();
    format!(
        "{}:{}",
        directory.display(),
        std::env::var("PATH").unwrap_or_default()
    )
}

#[test]
fn an_array_of_slurm() {
    let place = place();
    let results = tempfile::tempdir_in(place.directory.path()).unwrap();
    let out = results.path().join("found.csv");
    searched(place, &out, |shard| {
        // Slurm runs the script, with these variables.
        let mut command = Command::new("bash");
        command.arg(format!("{ROOT}/examples/detect.sbatch"));
        command.current_dir(place.directory.path());
        command
            .env("PATH", path_with_mist())
            .envs([("MODEL", "model"), ("IMAGES", "images")])
            .env("OUT", &out)
            .env("SLURM_JOB_ID", "712")
            .env("SLURM_ARRAY_JOB_ID", "704")
            .env("SLURM_ARRAY_TASK_ID", shard.to_string())
            .env("SLURM_ARRAY_TASK_COUNT", SHARDS.to_string())
            .env("SLURM_ARRAY_TASK_MIN", "0")
            .env("SLURM_ARRAY_TASK_MAX", (SHARDS - 1).to_string())
            .env("SLURM_ARRAY_TASK_STEP", "1")
            .env("SLURM_CPUS_PER_TASK", "1");
        command
    });
    let directives = [
        "job-name",
        "array",
        "cpus-per-task",
        "mem",
        "time",
        "requeue",
        "output",
        "ntasks",
        "mem-per-cpu",
        "signal",
    ];
    for name in ["detect.sbatch", "train.sbatch"] {
        let script = fs::read_to_string(format!("{ROOT}/examples/{name}")).unwrap();
        let told = script
            .lines()
            .filter_map(|line| line.strip_prefix("#SBATCH --"));
        let names: Vec<&str> = told
            .map(|option| option.split('=').next().unwrap())
            .collect();
        assert!(
            names.len() > 5 && names.iter().all(|name| directives.contains(name)),
            "{names:?}"
        );
    }
}

#[test]
fn an_indexed_job_of_kubernetes() {
    let Some(python) = std::env::var_os("MIST_READERS_PYTHON") else {
        skipped::skip(
            "an_indexed_job_of_kubernetes",
            "MIST_READERS_PYTHON is not set",
        );
        return;
    };
    let read = Command::new(python)
        .args([
            format!("{ROOT}/python/readers/job.py"),
            format!("{ROOT}/examples/detect.yaml"),
        ])
        .output()
        .unwrap();
    assert!(
        read.status.success(),
        "{}",
        String::from_utf8_lossy(&read.stderr)
    );
    let job: serde_json::Value = serde_json::from_slice(&read.stdout).unwrap();
    assert_eq!(job["completions"], SHARDS);
    let words = job["command"].as_array().unwrap().iter();
    let words: Vec<String> = words
        .map(|word| word.as_str().unwrap().to_owned())
        .collect();

    let place = place();
    // The volume that the pods share.
    let volume = tempfile::tempdir_in(place.directory.path()).unwrap();
    for name in ["model", "images"] {
        let target: PathBuf = place.directory.path().join(name);
        std::os::unix::fs::symlink(target, volume.path().join(name)).unwrap();
    }
    searched(place, &volume.path().join("found.csv"), |index| {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(volume.path());
        command.env("PATH", path_with_mist());
        command.env("JOB_COMPLETION_INDEX", index.to_string());
        command.env("RAYON_NUM_THREADS", "1");
        command
    });
}
