//! Files that earlier versions wrote.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use mist::device::Compute;
use mist::ranks::Alone;
use mist_kernels::simd::Isa;

use super::*;
use crate::models::{self, Choice};
use crate::observer::Silent;
use crate::run::directory::RunDirectory;
use crate::training::{End, TrainOptions, train};

fn old_recipe(name: &str) -> String {
    fs::read_to_string(format!("{FIXTURES}/old-recipes/{name}.toml")).unwrap()
}

fn complaint_about(text: &str) -> String {
    Recipe::from_resolved(text).unwrap_err().to_string()
}

#[test]
fn built_in_recipes_are_what_they_were() {
    let files = fs::read_dir(format!("{FIXTURES}/old-recipes")).unwrap();
    let mut compared = 0;
    for file in files {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let mut old = Recipe::from_resolved(&old_recipe(name)).unwrap();
        // Recipes that start from proposals have been renamed since; their names went to recipes that do without.
        let renamed = format!("{name}-proposals");
        let now = names().find(|now| *now == renamed).unwrap_or(name);
        old.experiment = now.to_owned();
        assert_eq!(Recipe::load(now, &[]).unwrap(), old, "{now}");
        compared += 1;
    }
    assert_eq!(compared, 17);
}

#[test]
fn an_old_file_can_be_loaded_and_extended() {
    let path = format!("{FIXTURES}/old-recipes/gabor-reconstruct.toml");
    let old = Recipe::load(&path, &["batch=3".to_owned()]).unwrap();
    assert_eq!((old.batch, old.model.geometry.context_px), (3, 4.0));
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("own.toml");
    fs::write(
        &own,
        format!("extends = '{path}'\nexperiment = \"own\"\nsteps = 3\n"),
    )
    .unwrap();
    let own = Recipe::load(own.to_str().unwrap(), &[]).unwrap();
    assert_eq!((own.steps, own.dataset.as_str()), (3, "gabor"));
}

#[test]
fn what_an_old_recipe_leaves_out_is_as_in_the_released_code() {
    let text = old_recipe("mnist-hard-official");
    let start = text.find("[method.lifted]").unwrap();
    let end = text.find("[model]").unwrap();
    let short = format!("{}[method.lifted]\n{}", &text[..start], &text[end..]);
    assert_eq!(
        Recipe::from_resolved(&short).unwrap(),
        Recipe::from_resolved(&text).unwrap()
    );
}

#[test]
fn settings_that_no_longer_exist_are_refused_unless_they_change_nothing() {
    let text = old_recipe("glyphs-demo");
    let with = |line: &str| text.replace("[method.lifted]", &format!("[method.lifted]\n{line}"));
    for neutral in [
        "seed_box_share = 1.0",
        "reseed_below = 0",
        "coarse_to_fine_steps = 0",
        "lambda_warmup_steps = 300",
    ] {
        let recipe = Recipe::from_resolved(&with(neutral)).unwrap();
        assert_eq!(recipe, Recipe::load("glyphs-demo", &[]).unwrap());
    }
    for changed in [
        "seed_box_share = 0.75",
        "reseed_below = 0.3",
        "coarse_to_fine_steps = 200",
    ] {
        let message = complaint_about(&with(changed));
        assert!(message.contains("no longer exists"), "{message}");
        assert!(message.contains(changed), "{message}");
    }
    let warm = with("lambda_warmup_steps = 300").replace("lambda = 0.0", "lambda = 1.0");
    assert!(complaint_about(&warm).contains("lambda_warmup_steps"));
    let message = complaint_about(&with("keypoint_stops = 3"));
    assert!(message.contains("`keypoint_stops`"), "{message}");
}

#[test]
fn shipped_models_are_read() {
    for (name, dataset, context_px) in [
        ("gabor", "gabor", 4.0),
        ("mnist-hard", "hard", 0.0),
        ("mnist-hard-reconstruct", "hard", 2.5),
    ] {
        let text = fs::read_to_string(format!("{FIXTURES}/old-models/{name}.json")).unwrap();
        let card = legacy_card(serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(card["dataset"], dataset);
        assert_eq!(legacy_card(card.clone()).unwrap(), card);
        let model: ModelConfig = serde_json::from_value(card["model"].clone()).unwrap();
        assert_eq!(model.geometry.context_px, context_px);
        model.check().unwrap();
        let experiment = card["experiment"].as_str().unwrap();
        let recipe = Recipe::load(&format!("{experiment}-proposals"), &[]).unwrap();
        if name != "mnist-hard" {
            assert_eq!(model, recipe.model);
        }
    }
}

/// Checkpoint of step 4 of 6 and the weights that the same version then reached.
#[test]
fn an_old_run_goes_on_to_the_weights_that_it_would_have_reached() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let old = Path::new(FIXTURES).join("old-run");
    for part in ["checkpoints", "weights", "samples"] {
        fs::create_dir(root.join(part)).unwrap();
    }
    for file in [
        "config.toml",
        "env.json",
        "log.jsonl",
        "metrics.jsonl",
        "checkpoints/last.ckpt",
        "weights/last.safetensors",
    ] {
        fs::copy(old.join(file), root.join(file)).unwrap();
    }
    let device = Compute::Cpu.device().unwrap();
    let before = models::load(root, Choice::Last, &device).unwrap();
    assert_eq!(before.card.dataset, "glyphs");
    let options = TrainOptions {
        device: device.clone(),
        budget: None,
        data: None,
        stop: &|| None,
        communicator: Arc::new(Alone),
    };
    let run = RunDirectory::open(root).unwrap();
    assert_eq!(train(&run, &options, &mut Silent).unwrap(), End::Done);
    let after = models::load(root, Choice::Last, &device).unwrap();
    let weights = after.finder.to_safetensors().unwrap();
    let expected = fs::read(Path::new(FIXTURES).join("old-run-after-6-steps.safetensors")).unwrap();
    // Sums are rounded differently by other instruction sets.
    if Isa::selected().unwrap() == Isa::Avx2 {
        assert!(weights == expected);
    }
    assert_eq!(weights.len(), expected.len());
}
