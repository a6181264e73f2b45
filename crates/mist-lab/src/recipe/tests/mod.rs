mod extends;
mod fuzz;
mod mutations;
mod old_form;
mod show;

use super::*;

/// Of the files that earlier versions wrote.
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

/// The complaint about a recipe with one setting changed.
fn complaint(name: &str, setting: &str) -> String {
    let error = Recipe::load(name, &[setting.to_owned()]).unwrap_err();
    error.to_string()
}

#[test]
fn every_built_in_recipe_is_valid_and_named_after_its_experiment() {
    for name in names() {
        let recipe = Recipe::load(name, &[]).unwrap();
        assert_eq!(recipe.experiment, name);
        let again = Recipe::from_resolved(&recipe.to_toml().unwrap()).unwrap();
        assert_eq!(recipe, again);
    }
}

#[test]
fn a_short_recipe_is_the_paper_s() {
    let text = r#"
        experiment = "paper"
        dataset = "hard"
        steps = 10
        method.lifted = {}
        model.task.classifier = { classes = 10 }
    "#;
    let recipe = Recipe::from_resolved(text).unwrap();
    assert_eq!(recipe.model, ModelConfig::paper(recipe.model.task.clone()));
    let paper = mist::lifted::LiftedConfig::default();
    assert_eq!(recipe.method, MethodConfig::Lifted(paper));
    assert_eq!((recipe.seed, recipe.batch), (1, 16));
    let text = recipe.to_toml().unwrap();
    assert!(text.contains("[optimiser.detector.adam]"), "{text}");
}

#[test]
fn the_official_recipe_is_the_released_code() {
    let recipe = Recipe::load("mnist-hard-official", &[]).unwrap();
    assert_eq!(recipe.model, ModelConfig::official());
    let released = mist::lifted::LiftedConfig::official();
    assert_eq!(recipe.method, MethodConfig::Lifted(released));
}

#[test]
fn settings_change_what_they_name() {
    let settings = [
        "batch=7".to_owned(),
        "optimiser.task.adam.learning_rate=0.5".to_owned(),
        "method.lifted.heatmap.loss=sum".to_owned(),
    ];
    let recipe = Recipe::load("glyphs-demo", &settings).unwrap();
    assert_eq!(recipe.batch, 7);
    assert_eq!(recipe.optimiser.get("task").adam.learning_rate, 0.5);
    let MethodConfig::Lifted(lifted) = recipe.method else {
        panic!("{:?}", recipe.method);
    };
    assert_eq!(lifted.heatmap.loss, mist::lifted::HeatmapLoss::Sum);
    assert_eq!(lifted.keypoints.steps, 1);
}

#[test]
fn mistakes_name_the_nearest_key() {
    let error = |setting: &str| complaint("glyphs-demo", setting);
    assert!(error("bacth=7").contains("`batch`"), "{}", error("bacth=7"));
    let network = error("optimiser.tsk.clip_norm=1.0");
    assert!(network.contains("did you mean `task`"), "{network}");
    let choice = error("model.extractor.suppression=gredy");
    assert!(
        choice.contains("unknown choice `gredy`; did you mean `greedy`"),
        "{choice}"
    );
    let method = error("method.liftd.order=task_first");
    assert!(method.contains("did you mean `lifted`"), "{method}");
    assert!(error("batch=many").contains("expected usize"));
    assert!(error("batch").contains("key=value"));
    assert!(error("model..background=1").contains("key=value"));
    assert!(error("steps.all=1").contains("`steps` has no settings inside"));
    let dataset = error("dataset=hrad");
    assert!(dataset.contains("`dataset`") && dataset.contains("did you mean `hard`"));
    let unknown = Recipe::load("glyphs-dmeo", &[]).unwrap_err();
    assert!(unknown.to_string().contains("`glyphs-demo`"));
}

#[test]
fn keys_that_were_renamed_name_their_new_name() {
    for (old, new) in [
        ("scenes=hard", "`dataset`"),
        ("optimiser.task.adam.rate=1.0", "`adam.learning_rate`"),
        ("method.lifted.seeded_steps=1", "`proposals.steps`"),
        ("model.geometry.context=1.25", "`context_px`"),
    ] {
        let message = complaint("glyphs-demo", old);
        assert!(message.contains(new), "{old}: {message}");
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    for (setting, complaint_about) in [
        ("batch=0", "`batch` must be at least 1"),
        ("batch=65537", "at most 65536"),
        ("shards=3", "`shards` must be a power of two"),
        ("shards=8192", "`shards`"),
        ("steps=1000000001", "`steps`"),
        ("every.log=0", "`every.log`"),
        ("every.sample=1000000001", "`every.sample`"),
        ("experiment=a/b", "`experiment`"),
        ("experiment=..", "`experiment`"),
        ("experiment=a*", "`experiment`"),
        ("experiment=\"\"", "`experiment`"),
        ("experiment=\"a\\u0007b\"", "`experiment`"),
        ("model.background=nan", "`background`"),
        ("model.extractor.instances=0", "`instances`"),
        (
            "method.lifted.keypoints.momentum=nan",
            "`keypoints.momentum`",
        ),
    ] {
        let message = complaint("glyphs-demo", setting);
        assert!(message.contains(complaint_about), "{setting}: {message}");
    }
    let long = format!("experiment={}", "a".repeat(101));
    assert!(complaint("glyphs-demo", &long).contains("100"));
    let mut recipe = Recipe::load("glyphs-demo", &[]).unwrap();
    recipe.seed = u64::MAX;
    assert!(recipe.check().unwrap_err().to_string().contains("`seed`"));
}
