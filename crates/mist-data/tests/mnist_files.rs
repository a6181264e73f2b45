//! Damaged MNIST files are refused with a reason, never with a panic.
#![allow(clippy::unwrap_used, clippy::panic)]

mod real_digits;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use mist_data::{Digits, Error};

const TRAIN_IMAGES: &str = "train-images-idx3-ubyte.gz";
const TEST_LABELS: &str = "t10k-labels-idx1-ubyte.gz";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn refusal(directory: &Path) -> String {
    match Digits::open(directory) {
        Err(error @ (Error::Input(_) | Error::System(_))) => error.to_string(),
        other => panic!("{:?}", other.map(drop)),
    }
}

#[test]
fn bad_first_files_are_refused() {
    let header = |magic: u8, count: u32| {
        let head = [0, 0, 8, magic];
        let sides = [0, 0, 0, 28, 0, 0, 0, 28];
        [&head[..], &count.to_be_bytes(), &sides, &[0; 784]].concat()
    };
    let corpus = [
        ("empty", vec![], "truncated"),
        ("page", b"<!doctype html>".to_vec(), "not gzip"),
        ("magic", gzip(&header(1, 60_000)), "0x00000801"),
        (
            "four billion",
            gzip(&header(3, u32::MAX)),
            "claims 4294967295 items",
        ),
        ("too few", gzip(&header(3, 60_000)), "promises 47040016"),
        ("bomb", gzip(&vec![0; 100 << 20]), "starts with 0x00000000"),
    ];
    for (name, bytes, expected) in corpus {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(TRAIN_IMAGES);
        fs::write(&path, bytes).unwrap();
        let message = refusal(directory.path());
        assert!(message.contains(expected), "{name}: {message}");
        assert!(message.contains(TRAIN_IMAGES), "{name}: {message}");
    }
}

#[test]
fn files_that_are_no_files_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    assert!(refusal(directory.path()).contains(TRAIN_IMAGES));
    let path = directory.path().join(TRAIN_IMAGES);
    fs::create_dir(&path).unwrap();
    assert!(refusal(directory.path()).contains("not a regular file"));
    fs::remove_dir(&path).unwrap();
    File::create(&path).unwrap().set_len(1 << 40).unwrap();
    assert!(refusal(directory.path()).contains("too many for MNIST"));
}

#[test]
fn bad_copies_of_the_real_files_are_refused() {
    let Some(real) = real_digits::directory("bad_copies_of_the_real_files_are_refused") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(&real).unwrap() {
        let entry = entry.unwrap();
        let source = entry.path().canonicalize().unwrap();
        symlink(source, directory.path().join(entry.file_name())).unwrap();
    }
    assert!(Digits::open(directory.path()).is_ok());

    let path = directory.path().join(TEST_LABELS);
    let packed = fs::read(&path).unwrap();
    let mut labels = Vec::new();
    GzDecoder::new(&packed[..])
        .read_to_end(&mut labels)
        .unwrap();
    let with_last_label = |label: u8| {
        let mut changed = labels.clone();
        *changed.last_mut().unwrap() = label;
        gzip(&changed)
    };
    let last = *labels.last().unwrap();
    let corpus = [
        (
            "truncated",
            packed[..packed.len() / 2].to_vec(),
            "truncated",
        ),
        ("trailing", [&packed[..], b"x"].concat(), "after the end"),
        ("label 11", with_last_label(11), "label 11"),
        ("wrong sum", with_last_label((last + 1) % 10), "SHA-256"),
    ];
    fs::remove_file(&path).unwrap();
    for (name, bytes, expected) in corpus {
        fs::write(&path, bytes).unwrap();
        let message = refusal(directory.path());
        assert!(message.contains(expected), "{name}: {message}");
    }
    fs::write(&path, with_last_label(last)).unwrap();
    assert!(
        Digits::open(directory.path()).is_ok(),
        "packed otherwise, but the same data"
    );
}

#[test]
fn a_test_without_its_data_is_counted_or_fails() {
    let empty = tempfile::tempdir().unwrap();
    let counted = empty.path().join("skipped");
    let without_data = |required: &str| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "bad_copies_of_the_real_files_are_refused"])
            .env("MIST_DATA", empty.path())
            .env("XDG_CACHE_HOME", empty.path())
            .env("HOME", empty.path())
            .env("MIST_SKIPPED", &counted)
            .env("MIST_REQUIRE_DATA", required)
            .output()
            .unwrap()
    };
    assert!(!without_data("1").status.success());
    assert!(without_data("0").status.success());
    assert!(without_data("0").status.success());
    let lines = fs::read_to_string(counted).unwrap();
    assert_eq!(lines.lines().count(), 2, "{lines}");
    for line in lines.lines() {
        let start = "bad_copies_of_the_real_files_are_refused: MNIST was not found";
        assert!(line.starts_with(start), "{line}");
    }
}
