//! Whatever the files of a model folder hold: a model or an error, never a panic, never much memory.

use std::fs;
use std::path::Path;

use mist::device::Compute;
use mist::finder::Finder;
use mist::model::Model;
use mist_data::Foreground;
use proptest::prelude::*;
use proptest::sample::Index;

use super::{CONFIG, Choice, ModelCard, WEIGHTS, load};
use crate::Fault;
use crate::recipe::Recipe;

/// A small model without checksums, which would notice every change before it is looked at.
fn files() -> (Vec<u8>, Vec<u8>) {
    let settings = ["model.detector.channels=4", "model.detector.blocks=1"];
    let recipe = Recipe::load("glyphs-demo", &settings.map(str::to_owned)).unwrap();
    let device = Compute::Cpu.device().unwrap();
    let model = Model::init(recipe.model.clone(), 1, &device).unwrap();
    let card = ModelCard {
        class_names: recipe.class_names().unwrap(),
        experiment: recipe.experiment,
        method: "lifted".to_owned(),
        settings: None,
        dataset: recipe.dataset,
        foreground: Foreground::Plain,
        model: recipe.model,
        weights_sha256: None,
    };
    let weights = model.to_safetensors().unwrap();
    (serde_json::to_vec_pretty(&card).unwrap(), weights)
}

fn loads(directory: &Path, config: &[u8], weights: &[u8]) -> Result<bool, TestCaseError> {
    fs::write(directory.join(CONFIG), config).unwrap();
    fs::write(directory.join(WEIGHTS), weights).unwrap();
    match load(directory, Choice::Best, &Compute::Cpu.device().unwrap()) {
        Ok(_) => Ok(true),
        Err(error) => {
            let fault = error.fault();
            prop_assert!(matches!(fault, Fault::Input | Fault::Usage), "{}", error);
            Ok(false)
        }
    }
}

fn changed(bytes: &[u8], within: usize, changes: &[(Index, u8)], end: Option<Index>) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (place, value) in changes {
        let place = place.index(within.min(bytes.len()));
        bytes[place] = *value;
    }
    if let Some(end) = end {
        bytes.truncate(end.index(bytes.len()));
    }
    bytes
}

#[test]
fn changed_models_are_models_or_errors() {
    let directory = tempfile::tempdir().unwrap();
    let (config, weights) = files();
    assert!(loads(directory.path(), &config, &weights).unwrap());
    let header = 8 + u64::from_le_bytes(weights[..8].try_into().unwrap()) as usize;
    let byte = prop_oneof![
        any::<u8>(),
        prop::sample::select(b"0189.-eE,:{}[]\"".to_vec())
    ];
    let changes = prop::collection::vec((any::<Index>(), byte), 0..4);
    let end = prop::option::weighted(0.2, any::<Index>());
    let whole = (changes.clone(), changes, end.clone(), end);
    let config_of_tests = ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = proptest::test_runner::TestRunner::new(config_of_tests);
    let tested = runner.run(&whole, |(in_config, in_weights, end, end_of_weights)| {
        let config = changed(&config, config.len(), &in_config, end);
        let weights = changed(&weights, header, &in_weights, end_of_weights);
        loads(directory.path(), &config, &weights).map(drop)
    });
    tested.unwrap();
}
