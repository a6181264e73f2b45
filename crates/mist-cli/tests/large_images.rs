//! `mist detect` on large, empty and hostile images.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../mist-data/tests/skipped/mod.rs"]
mod skipped;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mist_data::{Image, write_png};
use serde_json::Value;
use tempfile::TempDir;

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mnist-hard");

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn mist(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mist"));
        command
            .args(arguments)
            .current_dir(self.0.path())
            .output()
            .unwrap()
    }

    fn done(&self, arguments: &[&str]) -> String {
        let output = self.mist(arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {told}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs in a shell, for pipes and limits.
    fn shell(&self, line: &str) -> Output {
        let line = line.replace("MIST", env!("CARGO_BIN_EXE_mist"));
        let mut command = Command::new("bash");
        command
            .args(["-o", "pipefail", "-c", &line])
            .current_dir(self.0.path());
        command.output().unwrap()
    }

    /// Many scenes side by side, in one image.
    fn sheet(&self) {
        let arguments = ["data", "show", "glyphs", "--count", "16", "--zoom", "1"];
        self.done(&[&arguments[..], &["--out", "sheet.png"]].concat());
    }
}

fn objects(json: &str) -> Vec<Value> {
    let found: Value = serde_json::from_str(json).unwrap();
    let image = found[0].as_object().unwrap();
    let list = image.values().find_map(Value::as_array);
    list.unwrap().clone()
}

fn without_score(mut object: Value) -> Value {
    object.as_object_mut().unwrap().remove("score");
    object
}

#[test]
fn tiles_and_the_whole_give_the_same_boxes() {
    let place = Place::new();
    place.sheet();
    let find = |tile_px: &str| {
        let arguments = ["detect", MODEL, "sheet.png", "--instances", "60"];
        let json = place.done(&[&arguments[..], &["--tile-px", tile_px]].concat());
        objects(&json)
    };
    let (whole, tiles) = (find("4096"), find("96"));
    assert_eq!(whole.len(), 60);
    let scores = whole.iter().zip(&tiles).map(|(one, other)| {
        let score = |object: &Value| object["score"].as_f64().unwrap();
        (score(one) - score(other)).abs() / score(one)
    });
    assert!(scores.fold(0.0, f64::max) < 1e-3);
    let places =
        |objects: Vec<Value>| -> Vec<Value> { objects.into_iter().map(without_score).collect() };
    assert_eq!(places(whole), places(tiles));
}

#[test]
fn narrow_images_are_searched() {
    let place = Place::new();
    for (width_px, height_px) in [(1, 5000), (5000, 1), (3000, 40)] {
        write_png(
            &place.at("x.png"),
            &Image::filled(width_px, height_px, 1, 0.5),
        )
        .unwrap();
        let arguments = ["detect", MODEL, "x.png", "--instances", "2"];
        let json = place.done(&[&arguments[..], &["--tile-px", "64"]].concat());
        assert_eq!(objects(&json).len(), 2);
    }
}

#[test]
fn a_decompression_bomb_is_refused_within_a_limit_of_memory() {
    let place = Place::new();
    place.sheet();
    write_png(
        &place.at("bomb.png"),
        &Image::filled(16_000, 16_000, 1, 0.0),
    )
    .unwrap();
    assert!(fs::metadata(place.at("bomb.png")).unwrap().len() < 1 << 20);
    let output = place.shell(&format!(
        "ulimit -v 3000000; MIST detect {MODEL} bomb.png sheet.png"
    ));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("error: bomb.png"), "{told}");
    let found = String::from_utf8(output.stdout).unwrap();
    assert!(found.contains("sheet.png") && !found.contains("bomb.png"));
}

#[test]
fn closed_and_full_outputs_are_told_apart() {
    let place = Place::new();
    place.sheet();
    let closed = place.shell(&format!("MIST detect {MODEL} sheet.png | head -c 1"));
    assert_eq!(closed.status.code(), Some(0));
    if Path::new("/dev/full").exists() {
        let full = place.shell(&format!("MIST detect {MODEL} sheet.png > /dev/full"));
        assert!(!full.status.success());
        assert!(!String::from_utf8_lossy(&full.stderr).contains("panicked"));
    }
}

#[test]
fn auto_needs_a_calibration_and_finds_nothing_in_a_black_image() {
    let place = Place::new();
    fs::create_dir(place.at("model")).unwrap();
    for name in ["config.json", "weights.safetensors"] {
        fs::copy(Path::new(MODEL).join(name), place.at("model").join(name)).unwrap();
    }
    write_png(&place.at("black.png"), &Image::filled(80, 80, 1, 0.0)).unwrap();
    let auto = ["detect", "model", "black.png", "--instances", "auto"];
    let refused = place.mist(&auto);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("mist calibrate"));
    let calibrate = ["calibrate", "model", "--count", "64", "--plot", "plot.svg"];
    let output = place.mist(&calibrate);
    let message = String::from_utf8_lossy(&output.stderr);
    if message.contains("MNIST was not found") {
        skipped::skip("large_images", &message);
        return;
    }
    assert!(output.status.success(), "{message}");
    assert!(
        fs::read_to_string(place.at("plot.svg"))
            .unwrap()
            .contains("ideal")
    );
    assert_eq!(objects(&place.done(&auto)), Vec::<Value>::new());
}
