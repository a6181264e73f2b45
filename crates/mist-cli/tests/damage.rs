//! Damaged models and odd files in a run are told, never shown as results.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn mist(arguments: &[&str], paths: &[&Path]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mist"));
    command.args(arguments).args(paths);
    command
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", message(&output));
    output
}

/// Runs a command that must end with a code, and gives what it told.
fn refused(command: &mut Command, code: i32) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", message(&output));
    message(&output)
}

/// A run of two steps.
fn trained(directory: &Path) -> PathBuf {
    let run = directory.join("run");
    let mut command = mist(&["train", "glyphs-demo", "-q", "--out"], &[&run]);
    for setting in ["steps=2", "batch=2", "model.detector.blocks=1"] {
        command.args(["--set", setting]);
    }
    done(&mut command);
    run
}

/// Sets every value of the tensors of the task network and forgets the checksum.
fn fill_task_network(weights: &Path, value: f32) {
    let mut bytes = fs::read(weights).unwrap();
    let data = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&bytes[8..data]).unwrap();
    let tensors = header.as_object_mut().unwrap();
    tensors.remove("__metadata__");
    for (name, tensor) in tensors.iter() {
        let at = |end: usize| data + tensor["data_offsets"][end].as_u64().unwrap() as usize;
        if name.starts_with("task.") {
            for place in bytes[at(0)..at(1)].chunks_exact_mut(4) {
                place.copy_from_slice(&value.to_le_bytes());
            }
        }
    }
    let header = serde_json::to_vec(&header).unwrap();
    let mut whole = (header.len() as u64).to_le_bytes().to_vec();
    whole.extend(header);
    whole.extend(&bytes[data..]);
    fs::write(weights, whole).unwrap();
}

#[test]
fn a_flipped_bit_in_the_weights_of_a_run_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let run = trained(directory.path());
    let eval = || mist(&["eval", "--count", "4"], &[&run]);
    done(&mut eval());
    let weights = run.join("weights/best.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 0x40;
    fs::write(&weights, bytes).unwrap();
    let told = refused(&mut eval(), 3);
    assert!(told.contains("checksum"), "{told}");
}

#[test]
fn outputs_that_are_not_finite_are_no_labels() {
    let directory = tempfile::tempdir().unwrap();
    let run = trained(directory.path());
    fill_task_network(&run.join("weights/best.safetensors"), 1e38);
    let told = refused(&mut mist(&["eval", "--count", "4"], &[&run]), 3);
    assert!(told.contains("not finite"), "{told}");
    let scenes = directory.path().join("scenes");
    let generate = ["data", "generate", "glyphs", "--count", "1", "--out"];
    done(&mut mist(&generate, &[&scenes]));
    let images = scenes.join("images");
    let told = refused(&mut mist(&["detect"], &[&run, &images]), 3);
    assert!(told.contains("not finite"), "{told}");
}

#[test]
fn weights_that_are_not_numbers_are_refused_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let run = trained(directory.path());
    let images = directory.path().join("scenes");
    let generate = ["data", "generate", "glyphs", "--count", "1", "--out"];
    done(&mut mist(&generate, &[&images]));
    for value in [f32::NAN, f32::INFINITY] {
        fill_task_network(&run.join("weights/best.safetensors"), value);
        let found = directory.path().join("found.json");
        let mut detect = mist(&["detect"], &[&run, &images]);
        let told = refused(detect.arg("--out").arg(&found), 3);
        assert!(told.contains("finite") && told.contains("task."), "{told}");
        assert!(!found.exists());
    }
}

#[test]
fn exports_replace_nothing_unless_asked() {
    let directory = tempfile::tempdir().unwrap();
    let run = trained(directory.path());
    let model = directory.path().join("model");
    let export = || {
        let mut command = mist(&["export"], &[&run]);
        command.arg("--out").arg(&model);
        command
    };
    done(&mut export());
    let told = refused(&mut export(), 2);
    assert!(told.contains("--overwrite"), "{told}");
    done(export().arg("--overwrite"));
    done(&mut mist(&["eval", "--count", "4"], &[&model]));
}

#[test]
fn a_page_is_written_here() {
    let directory = tempfile::tempdir().unwrap();
    let run = trained(directory.path());
    let mut report = mist(&["report", "--out", "page.html"], &[&run]);
    done(report.current_dir(directory.path()));
    assert!(directory.path().join("page.html").is_file());
}

#[test]
fn a_page_shows_no_links_and_waits_for_no_pipe() {
    let directory = tempfile::tempdir().unwrap();
    let run = trained(directory.path());
    let page = directory.path().join("page.html");
    let secret = directory.path().join("secret");
    fs::write(&secret, b"secret").unwrap();
    std::os::unix::fs::symlink(&secret, run.join("samples/a-link.png")).unwrap();
    let pipe = Command::new("mkfifo")
        .arg(run.join("samples/z-pipe.png"))
        .status();
    assert!(pipe.unwrap().success());
    let mut report = mist(&["report"], &[&run]);
    let told = message(&done(report.arg("--out").arg(&page)));
    assert!(
        told.contains("a-link.png") && told.contains("z-pipe.png"),
        "{told}"
    );
    let html = fs::read_to_string(&page).unwrap();
    // Base64 of "secret".
    assert!(!html.contains("c2VjcmV0"));
    assert!(html.contains("step-0000002"));
}

#[test]
fn a_reader_of_messages_that_is_gone_is_no_failure() {
    let mut child = mist(&["eval", "no-such-model"], &[])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn pictures_never_replace_images_or_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let run = trained(directory.path());
    let (first, second) = (
        directory.path().join("first"),
        directory.path().join("second"),
    );
    for scenes in [&first, &second] {
        let generate = ["data", "generate", "glyphs", "--count", "1", "--out"];
        done(&mut mist(&generate, &[scenes]));
    }
    let (images, others) = (first.join("images"), second.join("images"));
    let image = fs::read_dir(&images)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let before = fs::read(&image).unwrap();
    let mut over_images = mist(&["detect"], &[&run, &images]);
    refused(over_images.arg("--overlay").arg(&images), 2);
    assert!(fs::read(&image).unwrap() == before);
    let overlays = directory.path().join("overlays");
    let mut of_one_name = mist(&["detect"], &[&run, &images, &others]);
    done(of_one_name.arg("--overlay").arg(&overlays));
    assert_eq!(fs::read_dir(&overlays).unwrap().count(), 2);
}

#[test]
fn a_missing_directory_of_results_is_no_empty_table() {
    let told = refused(
        &mut mist(
            &["reproduce", "tables", "--recorded", "--results", "none"],
            &[],
        ),
        2,
    );
    assert!(told.contains("none"), "{told}");
}
