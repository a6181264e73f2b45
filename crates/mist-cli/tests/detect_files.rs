//! `mist detect` on many files: order, damaged files, formats, pictures, shards.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mnist-hard");
const LAUNCHERS: [&str; 8] = [
    "SLURM_ARRAY_TASK_ID",
    "JOB_COMPLETION_INDEX",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_RANK",
    "PMI_SIZE",
    "RANK",
    "WORLD_SIZE",
];

/// A directory with scenes in `images/`, in which commands run.
struct Place {
    directory: TempDir,
}

impl Place {
    fn with_scenes(count: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = Self { directory };
        let count = count.to_string();
        place.done(&[
            "data", "generate", "glyphs", "--count", &count, "--out", "scenes",
        ]);
        fs::rename(place.at("scenes/images"), place.at("images")).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mist"));
        command.args(arguments).current_dir(self.directory.path());
        for variable in LAUNCHERS {
            command.env_remove(variable);
        }
        command
    }

    fn done(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", told(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn ended(&self, arguments: &[&str], code: i32) -> Output {
        let output = self.command(arguments).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {}",
            told(&output)
        );
        output
    }

    fn detect(&self, arguments: &[&str]) -> String {
        self.done(&[&["detect", MODEL], arguments].concat())
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.at(directory)).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn files(json: &str) -> Vec<String> {
    let found: Value = serde_json::from_str(json).unwrap();
    let images = found.as_array().unwrap().iter();
    images
        .map(|image| image["file"].as_str().unwrap().to_owned())
        .collect()
}

/// Makes every third image a damaged one, and gives the names of those that are left.
fn damage(place: &Place) -> (Vec<String>, usize) {
    let (mut whole, mut damaged) = (Vec::new(), 0);
    for (number, name) in place.names("images").into_iter().enumerate() {
        let path = place.at("images").join(&name);
        let bytes = fs::read(&path).unwrap();
        match number % 3 {
            0 => whole.push(format!("images/{name}")),
            1 => whole.push(format!("images/{name}")),
            _ => {
                damaged += 1;
                fs::write(&path, &bytes[..bytes.len() * (number % 50) / 50]).unwrap();
            }
        }
    }
    (whole, damaged)
}

#[test]
fn damaged_files_are_named_and_cost_nothing_else() {
    let place = Place::with_scenes(300);
    let (whole, damaged) = damage(&place);
    assert_eq!(damaged, 100);
    let output = place.ended(&["detect", MODEL, "images", "-q"], 1);
    assert_eq!(
        files(&String::from_utf8(output.stdout.clone()).unwrap()),
        whole
    );
    let errors = told(&output);
    let named = errors
        .lines()
        .filter(|line| line.starts_with("error: images/"));
    assert_eq!(named.count(), damaged, "{errors}");
    assert!(errors.contains("100 of 300 images"), "{errors}");
}

#[test]
fn results_do_not_depend_on_what_is_searched_beside() {
    let place = Place::with_scenes(9);
    // Of other sizes, between the others.
    place.done(&[
        "data",
        "show",
        "glyphs",
        "--count",
        "1",
        "--zoom",
        "1",
        "--out",
        "images/000004b.png",
    ]);
    let together = place.detect(&["images"]);
    let names = place.names("images");
    let apart: Vec<Value> = names
        .iter()
        .map(|name| {
            let one = place.detect(&[&format!("images/{name}")]);
            serde_json::from_str::<Value>(&one).unwrap()[0].take()
        })
        .collect();
    assert_eq!(
        serde_json::from_str::<Value>(&together).unwrap(),
        Value::from(apart)
    );
}

#[test]
fn paths_come_from_arguments_patterns_and_standard_input_in_order() {
    let place = Place::with_scenes(3);
    let names = place.names("images");
    let path = |index: usize| format!("images/{}", names[index]);
    assert_eq!(
        files(&place.detect(&["images/*.png"])),
        [path(0), path(1), path(2)]
    );
    let mut command = place.command(&["detect", MODEL, "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let list = format!("{}\r\n{}\n", path(2), path(0));
    child
        .stdin
        .take()
        .unwrap()
        .write_all(list.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        files(&String::from_utf8(output.stdout).unwrap()),
        [path(2), path(0)]
    );
    fs::create_dir(place.at("empty")).unwrap();
    let output = place.ended(&["detect", MODEL, "empty"], 2);
    assert!(told(&output).contains("no images in empty"));
    place.ended(&["detect", MODEL, "images", "missing.png"], 1);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let place = Place::with_scenes(70);
    let mut command = place.command(&["detect", MODEL, "images", "--format", "csv"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn pictures_counts_and_files_stand_beside_each_other() {
    let place = Place::with_scenes(2);
    fs::create_dir(place.at("others")).unwrap();
    let name = place.names("images")[0].clone();
    fs::copy(
        place.at("images").join(&name),
        place.at("others").join(&name),
    )
    .unwrap();
    let stem = Path::new(&name).file_stem().unwrap().to_str().unwrap();
    let printed = place.detect(&[
        "images",
        "others",
        "--instances",
        "4",
        "--crops",
        "crops",
        "--heatmap",
        "heat",
        "--counts",
        "counts.csv",
        "--overlay",
        "overlay",
        "--format",
        "voc",
        "--out",
        "voc",
    ]);
    assert_eq!(printed, "");
    for (directory, count) in [("voc", 3), ("heat", 3), ("overlay", 3), ("crops", 12)] {
        assert_eq!(place.names(directory).len(), count, "{directory}");
    }
    assert!(place.at(&format!("voc/{stem}-2.xml")).is_file());
    let counts = place.read("counts.csv");
    assert_eq!(counts.lines().next(), Some("file,class,count"));
    assert_eq!(counts.lines().count(), 1 + 3 * 10);
    let sum: u64 = counts
        .lines()
        .skip(1)
        .map(|line| line.rsplit(',').next().unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(sum, 12);
    for directory in ["images", "others"] {
        place.ended(
            &["detect", MODEL, "images", "others", "--crops", directory],
            2,
        );
    }
    place.ended(
        &[
            "detect",
            MODEL,
            "images",
            "--crops",
            "a",
            "--heatmap",
            "a/../a",
        ],
        2,
    );
    place.ended(&["detect", MODEL, "images", "--format", "yolo"], 2);
}

#[test]
fn a_file_of_results_is_whole_or_absent() {
    let place = Place::with_scenes(2);
    fs::write(place.at("out.json"), "before").unwrap();
    // The model cannot redraw, which shows at the first image.
    let refused = [
        "detect",
        MODEL,
        "images",
        "--out",
        "out.json",
        "--redrawn",
        "redrawn",
    ];
    place.ended(&refused, 2);
    assert_eq!(place.read("out.json"), "before");
    place.detect(&["images", "--out", "out.json"]);
    assert_eq!(place.read("out.json"), place.detect(&["images"]));
    let left = place
        .names(".")
        .into_iter()
        .filter(|name| name.starts_with(".mist"));
    assert_eq!(left.count(), 0);
}

#[cfg(unix)]
#[test]
fn names_that_are_not_utf8_stay_apart() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::with_scenes(1);
    let source = place.at("images").join(&place.names("images")[0]);
    fs::create_dir(place.at("odd")).unwrap();
    for name in [b"caf\xE8.png", b"caf\xE9.png"] {
        let name = std::ffi::OsStr::from_bytes(name);
        fs::copy(&source, place.at("odd").join(name)).unwrap();
    }
    let set: Value = serde_json::from_str(&place.detect(&["odd", "--format", "coco"])).unwrap();
    let [first, second] = [0, 1].map(|index: usize| &set["images"][index]["file_name"]);
    assert_ne!(first, second);
}

#[test]
fn shards_make_what_one_run_makes() {
    let place = Place::with_scenes(40);
    let broken = place.at("images").join(&place.names("images")[7]);
    fs::write(broken, "not an image").unwrap();
    for format in ["csv", "json", "coco", "coco-results", "label-studio"] {
        let whole = format!("whole.{format}");
        let arguments = ["detect", MODEL, "images", "--format", format, "--out"];
        let counts = ["--counts", "whole-counts.csv"];
        place.ended(&[&arguments[..], &[&whole], &counts].concat(), 1);
        let out = format!("out.{format}");
        let mut codes = Vec::new();
        for rank in ["0", "1", "2"] {
            let mut shard = place.command(&[&arguments[..], &[&out]].concat());
            shard.env("RANK", rank).env("WORLD_SIZE", "3");
            codes.push(shard.output().unwrap().status.code().unwrap());
        }
        codes.sort_unstable();
        assert_eq!(codes, [0, 0, 1]);
        assert!(!place.at(&out).exists());
        let part = |number: usize| format!("{out}.shard-{number}-of-3");
        let parts = [part(2), part(3), part(1)];
        let merge = ["merge", &parts[0], &parts[1], &parts[2], "--out", &out];
        let output = place.ended(&[&merge[..], &["--counts", "counts.csv"]].concat(), 1);
        assert!(
            told(&output).contains("is not an image"),
            "{}",
            told(&output)
        );
        assert!(place.read(&out) == place.read(&whole), "{format}");
        assert_eq!(place.read("counts.csv"), place.read("whole-counts.csv"));
    }
    let lacking = ["merge", "out.csv.shard-1-of-3", "out.csv.shard-3-of-3"];
    let output = place.ended(&lacking, 2);
    assert!(
        told(&output).contains("2/3 is missing"),
        "{}",
        told(&output)
    );
    let mixed = ["merge", "out.csv.shard-1-of-3", "out.json.shard-2-of-3"];
    let output = place.ended(&mixed, 2);
    assert!(told(&output).contains("different"), "{}", told(&output));
}

#[test]
fn a_shard_that_is_done_is_not_done_again() {
    let place = Place::with_scenes(6);
    let arguments = ["images", "--shard", "1/2", "--out", "out.json"];
    place.detect(&arguments);
    let part = place.at("out.json.shard-1-of-2");
    let before = fs::metadata(&part).unwrap().modified().unwrap();
    let again = place.ended(&[&["detect", MODEL], &arguments[..]].concat(), 0);
    assert!(told(&again).contains("done already"), "{}", told(&again));
    assert_eq!(fs::metadata(&part).unwrap().modified().unwrap(), before);
    let other = [&["detect", MODEL, "--instances", "3"], &arguments[..]].concat();
    assert!(told(&place.ended(&other, 2)).contains("other settings"));
    place.ended(&["detect", MODEL, "images", "--shard", "1/2"], 2);
    let text = fs::read_to_string(&part).unwrap();
    fs::write(&part, &text[..text.len() / 2]).unwrap();
    place.ended(&[&["detect", MODEL], &arguments[..]].concat(), 3);
}
