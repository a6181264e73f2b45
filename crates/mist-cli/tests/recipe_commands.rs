//! The recipe verbs as a user calls them.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Output};

use mist_lab::recipe::Recipe;

fn mist(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mist"))
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn list_has_one_line_for_each_recipe() {
    let output = mist(&["recipe", "list"]);
    assert!(output.status.success());
    let listed = text(&output.stdout);
    assert_eq!(listed.lines().count(), 58);
    assert!(listed.contains("mnist-hard-supervised\thard\tsupervised\t6000\n"));
}

#[test]
fn show_prints_a_recipe_that_can_be_trained_again() {
    let output = mist(&["recipe", "show", "mnist-k9", "--set", "batch=3"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    let batch = shown.lines().find(|line| line.starts_with("batch = 3 "));
    assert!(batch.unwrap().ends_with(" # --set"), "{shown}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shown.toml");
    std::fs::write(&file, &shown).unwrap();
    let again = Recipe::load(file.to_str().unwrap(), &[]).unwrap();
    assert_eq!(
        again,
        Recipe::load("mnist-k9", &["batch=3".to_owned()]).unwrap()
    );
}

#[test]
fn a_misspelt_recipe_is_a_usage_error() {
    let output = mist(&["recipe", "show", "mnist-k8"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("`mnist-k9`"));
}
