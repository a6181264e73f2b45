//! Generated sets are whole or absent, and the same each time.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use mist_data::{
    DecodeLimits, Error, GaborNoise, IfExists, RequestError, SceneKind, SceneSet, Split, generate,
    read_image,
};
use serde_json::Value;

fn glyphs() -> SceneSet {
    SceneSet::new(SceneKind::Glyphs, 4, Split::Train, None).unwrap()
}

fn never() -> bool {
    false
}

fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(contents(&path));
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    files
}

fn annotations(directory: &Path) -> Value {
    serde_json::from_slice(&fs::read(directory.join("annotations.json")).unwrap()).unwrap()
}

#[test]
fn files_agree_with_the_scenes() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("deep/set");
    let set = glyphs();
    let written = generate(&set, 5, &out, IfExists::Refuse, &never).unwrap();
    assert_eq!((written.images, written.instances), (5, 45));
    let json = annotations(&out);
    assert_eq!(json["categories"][7]["name"], "arrow");
    assert_eq!(json["info"]["seed"], 4);
    let boxes = json["annotations"].as_array().unwrap();
    for (index, entry) in json["images"].as_array().unwrap().iter().enumerate() {
        let scene = set.scene(index as u64);
        let image = read_image(
            &out.join(entry["file_name"].as_str().unwrap()),
            DecodeLimits::default(),
        )
        .unwrap();
        assert_eq!(
            image.to_interleaved_bytes(),
            scene.image.to_interleaved_bytes()
        );
        let own: Vec<&Value> = boxes
            .iter()
            .filter(|b| b["image_id"] == entry["id"])
            .collect();
        assert_eq!(own.len(), scene.instances.len());
        for (found, instance) in own.iter().zip(&scene.instances) {
            assert_eq!(found["category_id"], instance.label);
            assert_eq!(found["bbox"][0], instance.bounds.x_min_px);
            assert_eq!(found["bbox"][3], instance.bounds.height_px());
            assert_eq!(found["area"], 400.0);
            assert_eq!(found["iscrowd"], 0);
            assert!(found.get("scale").is_none() && found.get("weight").is_none());
        }
    }
    let ids: Vec<u64> = boxes.iter().map(|b| b["id"].as_u64().unwrap()).collect();
    assert!(ids.into_iter().eq(1..=45));
}

#[test]
fn impulse_weights_are_kept() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("set");
    let noise = GaborNoise::with_mean_impulses(4.0);
    let set = SceneSet::with_noise(noise, 1, Split::Test).unwrap();
    generate(&set, 2, &out, IfExists::Refuse, &never).unwrap();
    let weight = annotations(&out)["annotations"][0]["weight"]
        .as_f64()
        .unwrap();
    assert_eq!(weight as f32, set.scene(0).instances[0].weight);
}

#[test]
fn bytes_are_the_same_each_time() {
    let root = tempfile::tempdir().unwrap();
    let [first, second] = ["a", "b"].map(|name| {
        let out = root.path().join("same");
        generate(&glyphs(), 12, &out, IfExists::Overwrite, &never).unwrap();
        let found = contents(&out);
        fs::rename(&out, root.path().join(name)).unwrap();
        found
    });
    assert_eq!(first.len(), 13);
    assert_eq!(first, second);
}

#[test]
fn directories_in_use_are_respected() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("set");
    fs::create_dir(&out).unwrap();
    generate(&glyphs(), 3, &out, IfExists::Refuse, &never).unwrap();
    let before = contents(&out);
    let refused = generate(&glyphs(), 4, &out, IfExists::Refuse, &never);
    assert!(matches!(
        refused,
        Err(Error::Request(RequestError::OutputExists(_)))
    ));
    assert_eq!(contents(&out), before);
    generate(&glyphs(), 4, &out, IfExists::Overwrite, &never).unwrap();
    assert_eq!(contents(&out).len(), 5);
    fs::write(out.join("thesis.tex"), b"years of work").unwrap();
    let before = contents(&out);
    let refused = generate(&glyphs(), 4, &out, IfExists::Overwrite, &never);
    assert!(matches!(
        refused,
        Err(Error::Request(RequestError::NotOurs { .. }))
    ));
    assert_eq!(contents(&out), before);
    assert_eq!(
        fs::read_dir(root.path()).unwrap().count(),
        1,
        "nothing is left beside it"
    );
}

#[test]
fn the_directory_is_whole_from_the_first_moment() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("set");
    let writer = thread::spawn({
        let out = out.clone();
        move || generate(&glyphs(), 700, &out, IfExists::Refuse, &never)
    });
    while !out.exists() {
        assert!(!writer.is_finished() || out.exists());
        thread::yield_now();
    }
    assert_eq!(contents(&out).len(), 701);
    assert_eq!(annotations(&out)["images"].as_array().unwrap().len(), 700);
    writer.join().unwrap().unwrap();
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
}

#[test]
fn a_failure_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, b"in the way").unwrap();
    for out in [file.clone(), file.join("set")] {
        assert!(matches!(
            generate(&glyphs(), 2, &out, IfExists::Overwrite, &never),
            Err(Error::System(_))
        ));
    }
    assert_eq!(fs::read(&file).unwrap(), b"in the way");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
}

#[test]
fn coco_folders_of_the_user_are_not_overwritten() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("coco");
    let images = out.join("images");
    fs::create_dir_all(&images).unwrap();
    fs::write(images.join("000000.png"), b"a photo").unwrap();
    let own = r#"{"info": {"description": "holiday", "year": 2024}, "annotations": [],
        "images": [{"id": 0, "file_name": "images/000000.png", "width": 4, "height": 4}]}"#;
    for annotations in [own, "no JSON", "{}"] {
        fs::write(out.join("annotations.json"), annotations).unwrap();
        assert_kept(&out, "annotations.json");
    }
    fs::remove_file(out.join("annotations.json")).unwrap();
    assert_kept(&out, "images");
}

#[test]
fn files_that_were_added_to_a_generated_set_are_kept() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("set");
    generate(&glyphs(), 3, &out, IfExists::Refuse, &never).unwrap();
    let added = out.join("images/000003.png");
    fs::write(&added, b"a photo").unwrap();
    assert_kept(&out, "images/000003.png");
    fs::remove_file(&added).unwrap();
    fs::create_dir(out.join("images/mine")).unwrap();
    assert_kept(&out, "images/mine");
    fs::remove_dir(out.join("images/mine")).unwrap();
    fs::remove_file(out.join("images/000001.png")).unwrap();
    generate(&glyphs(), 2, &out, IfExists::Overwrite, &never).unwrap();
    fs::remove_dir_all(out.join("images")).unwrap();
    generate(&glyphs(), 2, &out, IfExists::Overwrite, &never).unwrap();
    assert_eq!(contents(&out).len(), 3);
}

/// Asserts that a directory is refused because of what was found in it, and left as it was.
fn assert_kept(out: &Path, because: &str) {
    let before = contents(out);
    match generate(&glyphs(), 2, out, IfExists::Overwrite, &never) {
        Err(Error::Request(RequestError::NotOurs { found, .. })) => {
            assert!(found.contains(because), "{found}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(contents(out), before);
    assert_eq!(fs::read_dir(out.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_cancelled_generation_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("set");
    let asked = AtomicUsize::new(0);
    let third_time = || asked.fetch_add(1, Ordering::Relaxed) == 2;
    let stopped = generate(&glyphs(), 1_000_000, &out, IfExists::Refuse, &third_time);
    assert!(matches!(stopped, Err(Error::Cancelled(_))));
    assert_eq!(asked.into_inner(), 3, "it stops at once");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}
