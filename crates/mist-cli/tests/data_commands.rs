//! The data verbs as a user calls them.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn mist(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mist"))
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn list_names_every_kind_on_standard_output() {
    let output = mist(&["data", "list"]);
    assert!(output.status.success());
    let listed = text(&output.stdout);
    assert_eq!(listed.lines().count(), 18);
    assert!(listed.starts_with("glyphs\tready\t"));
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mist"))
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn show_writes_a_sheet_and_prints_only_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let sheet = folder.path().join("sheet.png");
    let output = mist(&["data", "show", "glyphs", "--out", path(&sheet)]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).trim_end(), path(&sheet));
    let image = mist_data::read_image(&sheet, mist_data::DecodeLimits::default()).unwrap();
    assert!(image.width_px > 900 && image.height_px > 700);
    let quiet = mist(&["-q", "data", "show", "gabor", "--out", path(&sheet)]);
    assert!(quiet.status.success() && quiet.stderr.is_empty());
}

#[test]
fn generate_is_repeatable_and_never_overwrites_silently() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    let generate = |out: &Path, extra: &[&str]| {
        let mut arguments = vec![
            "data",
            "generate",
            "glyphs",
            "--count",
            "3",
            "--out",
            path(out),
        ];
        arguments.extend(extra);
        mist(&arguments)
    };
    assert!(generate(&first, &[]).status.success());
    assert!(generate(&second, &[]).status.success());
    let annotations = |out: &Path| std::fs::read(out.join("annotations.json")).unwrap();
    assert_eq!(annotations(&first), annotations(&second));
    let again = generate(&first, &[]);
    assert_eq!(again.status.code(), Some(2));
    assert!(
        generate(&first, &["--seed", "1", "--overwrite"])
            .status
            .success()
    );
    assert_ne!(annotations(&first), annotations(&second));
}

#[test]
fn an_interrupted_generation_leaves_no_temporary_folder() {
    let folder = tempfile::tempdir().unwrap();
    let count = || std::fs::read_dir(folder.path()).unwrap().count();
    let out = folder.path().join("set");
    let mut child = Command::new(env!("CARGO_BIN_EXE_mist"))
        .args(["data", "generate", "glyphs", "--count", "10000000", "--out"])
        .arg(&out)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while count() == 0 {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(count(), 0);
}

#[test]
fn mistakes_are_named_with_their_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let typo = mist(&["data", "show", "hrad", "--out", "x.png"]);
    assert_eq!(typo.status.code(), Some(2));
    assert!(text(&typo.stderr).contains("did you mean `hard`"));
    let absent = mist(&[
        "data",
        "show",
        "hard",
        "--out",
        "x.png",
        "--data",
        path(folder.path()),
    ]);
    assert_eq!(absent.status.code(), Some(3));
    assert!(text(&absent.stderr).contains("mist data fetch mnist"));
    let nowhere = folder.path().join("no/such/folder/x.png");
    let unwritable = mist(&["data", "show", "glyphs", "--out", path(&nowhere)]);
    assert_eq!(unwritable.status.code(), Some(3));
    let said = text(&unwritable.stderr);
    assert_eq!(said.matches("os error").count(), 1, "{said}");
    let device = mist(&["bench", "detect", "--device", "cuda"]);
    assert_eq!(device.status.code(), Some(2));
    assert!(text(&device.stderr).contains("--features cuda"));
}

#[test]
fn damaged_digits_are_refused_with_nothing_written() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "train-images-idx3-ubyte.gz",
        "train-labels-idx1-ubyte.gz",
        "t10k-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz",
    ] {
        std::fs::write(folder.path().join(name), b"\x1f\x8bnot really gzip").unwrap();
    }
    let sheet = folder.path().join("sheet.png");
    let data = path(folder.path());
    let output = mist(&[
        "data",
        "show",
        "hard",
        "--data",
        data,
        "--out",
        path(&sheet),
    ]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("train-images-idx3-ubyte.gz"));
    assert!(!sheet.exists());
}
