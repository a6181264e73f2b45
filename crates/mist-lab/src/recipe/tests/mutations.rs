//! Every setting replaced by values that make no sense: refused or accepted, but never a panic, an abort or a hang.

use mist::device::Compute;
use mist::model::Model;
use toml::Value;

use super::*;

const MAX_PARAMETERS: usize = 3_000_000;

fn nonsense() -> Vec<Value> {
    vec![
        Value::Integer(0),
        Value::Integer(-1),
        Value::Integer(1_000_000_000),
        Value::Integer(1 << 62),
        Value::Integer(i64::MAX),
        Value::Float(0.0),
        Value::Float(-1.0),
        Value::Float(1e9),
        Value::Float(1e308),
        Value::Float(f64::NAN),
        Value::String(String::new()),
        Value::String("?".to_owned()),
        Value::Boolean(true),
        Value::Array(Vec::new()),
        Value::Table(toml::Table::new()),
    ]
}

/// Calls `with` for each value inside, tables too, replaced by each piece of nonsense.
fn replace_each(whole: &Value, with: &mut dyn FnMut(&str, Value)) {
    for path in paths(whole) {
        for nonsense in nonsense() {
            let mut changed = whole.clone();
            let place = path
                .iter()
                .try_fold(&mut changed, |value, step| match value {
                    Value::Table(table) => table.get_mut(step),
                    Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
                    _ => None,
                });
            let name = format!("{} = {nonsense}", path.join("."));
            *place.unwrap() = nonsense;
            with(&name, changed);
        }
    }
}

fn paths(value: &Value) -> Vec<Vec<String>> {
    let inside: Vec<(String, &Value)> = match value {
        Value::Table(table) => table.iter().map(|(key, v)| (key.clone(), v)).collect(),
        Value::Array(items) => {
            let numbered = items.iter().enumerate();
            numbered.map(|(i, v)| (i.to_string(), v)).collect()
        }
        _ => Vec::new(),
    };
    let mut all = Vec::new();
    for (key, value) in inside {
        all.push(vec![key.clone()]);
        all.extend(paths(value).into_iter().map(|mut path| {
            path.insert(0, key.clone());
            path
        }));
    }
    all
}

/// Starts a model if it is small enough to be started often.
fn start(config: &ModelConfig, name: &str) {
    let detector = config.detector_network().expect(name);
    let task = config.task.network().expect(name);
    // Backbones have weights that are not here.
    let starts = config.backbone.is_none();
    if starts && detector.parameter_count() + task.parameter_count() < MAX_PARAMETERS {
        let device = Compute::Cpu.device().unwrap();
        Model::init(config.clone(), 1, &device).expect(name);
    }
}

#[test]
fn no_setting_of_a_recipe_brings_the_program_down() {
    for recipe in [
        "glyphs-demo",
        "mnist-hard-official",
        "mnist-hard-supervised",
        "mnist-scale-reconstruct",
    ] {
        let whole = Recipe::load(recipe, &[]).unwrap().to_toml().unwrap();
        let whole = Value::Table(whole.parse().unwrap());
        replace_each(&whole, &mut |name, changed| {
            let text = toml::to_string(&changed).unwrap();
            if let Ok(recipe) = Recipe::from_resolved(&text) {
                start(&recipe.model, name);
            }
        });
    }
}

#[test]
fn no_setting_of_a_model_brings_the_program_down() {
    for model in ["mnist-hard", "gabor"] {
        let text = std::fs::read_to_string(format!("{FIXTURES}/old-models/{model}.json")).unwrap();
        let old: Value = serde_json::from_str(&text).unwrap();
        let new = legacy_card(serde_json::from_str(&text).unwrap()).unwrap();
        let new: Value = serde_json::from_value(new).unwrap();
        for card in [old, new] {
            replace_each(&card, &mut |name, changed| {
                let text = serde_json::to_string(&changed).unwrap();
                if let Ok(card) = crate::models::ModelCard::from_json(&text) {
                    start(&card.model, name);
                }
            });
        }
    }
}
