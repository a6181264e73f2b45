//! The programs that users read detections with read ours: pycocotools, Label Studio's SDK, an XML parser, a YOLO reader.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../mist-data/tests/skipped/mod.rs"]
mod skipped;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mnist-hard");
const CHECK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/readers/check.py");
const IMAGES: usize = 5;
const CLASSES: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

/// Scenes with their true boxes in `scenes/`, and one image with an odd name.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let scenes = IMAGES.to_string();
        let generate = ["data", "generate", "glyphs", "--out", "scenes", "--count"];
        place.mist(&[&generate[..], &[&scenes]].concat());
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn mist(&self, arguments: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mist"));
        let output = command.args(arguments).current_dir(self.0.path()).output();
        let output = output.unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {told}");
    }

    fn detect(&self, format: &str, out: &str) {
        let detect = ["detect", MODEL, "scenes/images", "--format", format];
        self.mist(&[&detect[..], &["--out", out]].concat());
    }

    fn read(&self, python: &OsString, arguments: &[&str]) -> Value {
        let mut command = Command::new(python);
        command.arg(CHECK).args(arguments);
        let output = command.current_dir(self.0.path()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {told}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn other_programs_read_what_is_found() {
    let Some(python) = std::env::var_os("MIST_READERS_PYTHON") else {
        let why = "MIST_READERS_PYTHON is not set (scripts/setup-readers.sh prints it)";
        skipped::skip("other_programs_read_what_is_found", why);
        return;
    };
    let place = Place::new();
    fs::copy(
        place.at("scenes/images/000000.png"),
        place.at("scenes/images/ünd & <so>.png"),
    )
    .unwrap();
    let images = IMAGES + 1;
    place.detect("coco", "coco.json");
    let set = place.read(&python, &["coco", "coco.json"]);
    let boxes = set["images"].as_object().unwrap();
    assert_eq!(boxes.len(), images);
    assert!(boxes.values().all(|count| *count == 9), "{set}");
    assert!(boxes.contains_key("scenes/images/ünd & <so>.png"), "{set}");
    assert_eq!(set["categories"].as_array().unwrap().len(), CLASSES.len());

    place.detect("label-studio", "tasks.json");
    let tasks = [&["label-studio", "tasks.json"], &CLASSES[..]].concat();
    let tasks = place.read(&python, &tasks);
    assert_eq!(tasks["errors"], Value::Array(Vec::new()));
    assert_eq!(tasks["boxes"], Value::from(vec![9; images]));
    let others = place.read(&python, &["label-studio", "tasks.json", "10"]);
    assert_eq!(others["errors"].as_array().unwrap().len(), 9 * images);

    place.detect("voc", "voc");
    let voc = place.read(&python, &["voc", "voc"]);
    assert_eq!(voc.as_object().unwrap().len(), images);
    let odd = &voc["ünd & <so>.png"];
    assert_eq!(odd["size"], Value::from(vec![80, 80, 1]));
    for object in odd["objects"].as_array().unwrap() {
        let corner = |index: usize| object[index].as_u64().unwrap();
        assert!(CLASSES.contains(&object[0].as_str().unwrap()));
        assert!(1 <= corner(1) && corner(1) <= corner(3) && corner(3) <= 80);
        assert!(1 <= corner(2) && corner(2) <= corner(4) && corner(4) <= 80);
    }
    assert_eq!(odd["objects"].as_array().unwrap().len(), 9);

    // Results belong to the set that the images were generated with: the odd one is not part of it.
    fs::remove_file(place.at("scenes/images/ünd & <so>.png")).unwrap();
    place.detect("coco-results", "results.json");
    let truth = coco_truth(&place.at("scenes"));
    let results = ["coco-results", truth.to_str().unwrap(), "results.json"];
    let results = place.read(&python, &results);
    assert_eq!(results["boxes"], 9 * IMAGES);
    assert!(results["ap50"].as_f64().is_some(), "{results}");
}

/// The annotations that a generated set comes with.
fn coco_truth(set: &Path) -> PathBuf {
    let entries = fs::read_dir(set).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    let json = |path: &PathBuf| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    };
    paths.find(json).unwrap()
}

/// A box as YOLO's trainers read it: class, and the middle and size in fractions of the image.
struct YoloBox {
    class: usize,
    centre: [f64; 2],
    size: [f64; 2],
}

fn read_yolo(path: &Path, classes: usize) -> Vec<YoloBox> {
    let text = fs::read_to_string(path).unwrap();
    let read = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let [class, x, y, width, height] = fields[..].try_into().expect(line);
        let fraction = |text: &str| {
            let value: f64 = text.parse().expect(line);
            assert!((0.0..=1.0).contains(&value), "{line}");
            value
        };
        let class = class.parse().expect(line);
        assert!(class < classes, "{line}");
        YoloBox {
            class,
            centre: [x, y].map(fraction),
            size: [width, height].map(fraction),
        }
    };
    text.lines().map(read).collect()
}

#[test]
fn yolo_labels_are_the_boxes_of_the_json() {
    let place = Place::new();
    place.detect("yolo", "labels");
    place.detect("json", "found.json");
    let classes = fs::read_to_string(place.at("labels/classes.txt")).unwrap();
    assert_eq!(classes.lines().collect::<Vec<_>>(), CLASSES);
    let found: Value = serde_json::from_slice(&fs::read(place.at("found.json")).unwrap()).unwrap();
    let images = found.as_array().unwrap();
    assert_eq!(images.len(), IMAGES);
    for image in images {
        let stem = Path::new(image["file"].as_str().unwrap()).file_stem();
        let labels = place.at("labels").join(stem.unwrap()).with_extension("txt");
        let labels = read_yolo(&labels, CLASSES.len());
        let boxes = image["detections"].as_array().unwrap();
        assert_eq!(labels.len(), boxes.len());
        for (label, found) in labels.iter().zip(boxes) {
            assert_eq!(found["label"], label.class);
            for axis in [0, 1] {
                let side = image[["width", "height"][axis]].as_f64().unwrap();
                let at = |index: usize| found["bbox"][index].as_f64().unwrap();
                // What lies beside the image is cut off.
                let (from, to) = (at(axis).max(0.0), (at(axis) + at(axis + 2)).min(side));
                let (centre, size) = ((from + to) / 2.0 / side, (to - from) / side);
                assert!((label.centre[axis] - centre).abs() < 1e-5, "{found}");
                assert!((label.size[axis] - size).abs() < 1e-5, "{found}");
            }
        }
    }
}
