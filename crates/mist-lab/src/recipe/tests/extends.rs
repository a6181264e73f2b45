//! Recipes that state their differences to another.

use std::fs;
use std::path::Path;

use super::*;

fn write(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn load(path: &str) -> Result<Recipe> {
    Recipe::load(path, &[])
}

#[test]
fn a_recipe_states_only_its_differences() {
    let directory = tempfile::tempdir().unwrap();
    let own = "extends = \"mnist-hard-classify\"\nexperiment = \"own\"\nsteps = 7\n";
    let own = write(directory.path(), "own.toml", own);
    let settings = ["experiment=own".to_owned(), "steps=7".to_owned()];
    let expected = Recipe::load("mnist-hard-classify", &settings).unwrap();
    assert_eq!(load(&own).unwrap(), expected);
}

#[test]
fn parents_are_found_beside_the_file_that_names_them() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("inner")).unwrap();
    let base = "extends = \"glyphs-demo\"\nexperiment = \"base\"\nbatch = 3\n";
    write(directory.path(), "base.toml", base);
    let own = "extends = \"../base.toml\"\nexperiment = \"own\"\nsteps = 5\n";
    let own = write(directory.path(), "inner/own.toml", own);
    let recipe = load(&own).unwrap();
    assert_eq!((recipe.steps, recipe.batch), (5, 3));
    assert_eq!(recipe.dataset, "glyphs");
}

#[test]
fn another_task_or_method_replaces_the_parent_s() {
    let directory = tempfile::tempdir().unwrap();
    let own = r#"
        extends = "mnist-hard-classify"
        experiment = "own"
        method.supervised.jitter_shift_px = 2.0
        model.task.classifier.encoder.blocks_per_level = 2
    "#;
    let recipe = load(&write(directory.path(), "own.toml", own)).unwrap();
    let expected = mist::baselines::SupervisedConfig {
        jitter_shift_px: 2.0,
        ..Default::default()
    };
    assert_eq!(recipe.method, MethodConfig::Supervised(expected));
    let mist::model::TaskNetwork::Classifier { encoder, .. } = recipe.model.task else {
        panic!("{:?}", recipe.model.task);
    };
    assert_eq!((encoder.blocks_per_level, encoder.base_channels), (2, 16));
}

#[test]
fn results_of_a_parent_are_not_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let own = write(
        directory.path(),
        "own.toml",
        "extends = \"glyphs-demo\"\nsteps = 5\n",
    );
    let message = load(&own).unwrap_err().to_string();
    assert!(message.contains("`experiment` is missing"), "{message}");
    let named = Recipe::load(&own, &["experiment=own".to_owned()]).unwrap();
    assert_eq!(named.experiment, "own");
}

#[test]
fn broken_chains_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let cycle = write(place, "a.toml", "extends = \"b.toml\"\n");
    write(place, "b.toml", "extends = \"./a.toml\"\n");
    let message = load(&cycle).unwrap_err().to_string();
    assert!(message.contains("extends itself"), "{message}");
    assert!(message.contains("a.toml extends") && message.contains("b.toml extends"));

    let orphan = write(place, "orphan.toml", "extends = \"gone.toml\"\n");
    let message = load(&orphan).unwrap_err().to_string();
    assert!(message.contains("orphan.toml extends"), "{message}");
    assert!(message.contains("gone.toml"), "{message}");
    let misspelt = write(place, "misspelt.toml", "extends = \"mnist-k99\"\n");
    let message = load(&misspelt).unwrap_err().to_string();
    assert!(message.contains("misspelt.toml extends"), "{message}");
    assert!(message.contains("`mnist-k9`"), "{message}");

    for number in 0..20 {
        let text = format!("extends = \"deep{}.toml\"\n", number + 1);
        write(place, &format!("deep{number}.toml"), &text);
    }
    let message = load(&write(place, "deep.toml", "extends = \"deep0.toml\"\n"))
        .unwrap_err()
        .to_string();
    assert!(message.contains("more than 16 recipes"), "{message}");
    assert!(message.contains("deep3.toml extends"), "{message}");

    let wrong = write(place, "wrong.toml", "extends = 3\n");
    let message = load(&wrong).unwrap_err().to_string();
    assert!(message.contains("`extends` must be"), "{message}");
}
