//! Starts that go wrong leave nothing behind.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::{code, done, message, train};

#[test]
fn a_seed_that_no_recipe_can_hold_is_refused_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let mut command = train(&run, &["steps=1"]);
    let output = command.args(["--seed", &u64::MAX.to_string()]);
    let output = output.output().unwrap();
    let told = message(&output);
    assert_eq!(code(output.status), Some(2), "{told}");
    assert!(told.contains("`seed`"), "{told}");
    assert!(!run.exists());
}

#[test]
fn names_need_not_be_text() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join(OsStr::from_bytes(b"run\xff"));
    done(&mut train(&run, &["steps=1"]));
    assert!(run.join("weights/last.safetensors").exists());
}
