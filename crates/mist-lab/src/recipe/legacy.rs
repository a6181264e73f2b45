//! Recipes, runs and models from before settings were grouped and the paper became the default.
//!
//! A file with the key `scenes` is of that form. What it leaves out is as in the released code.

use mist::lifted::LiftedConfig;
use toml::{Table, Value};

use crate::error::{Error, Result};

const SCENES: &str = "scenes";

/// Settings of `method.lifted` by their old names.
const LIFTED: &[(&str, &str)] = &[
    ("seeded_steps", "proposals.steps"),
    ("seeds", "proposals.kind"),
    ("seeds_compete", "proposals.compete"),
    ("keypoint_steps", "keypoints.steps"),
    ("keypoint_rate", "keypoints.learning_rate"),
    ("keypoint_limit_px", "keypoints.max_step_px"),
    ("keypoint_momentum", "keypoints.momentum"),
    ("moves_scale", "keypoints.move_scale"),
    ("lambda", "keypoints.lambda"),
    ("jitter_px", "jitter.shift_px"),
    ("jitter_scale", "jitter.scale_frac"),
    ("jitter_turn_rad", "jitter.rotation_rad"),
    ("heatmap_loss", "heatmap.loss"),
    ("heatmap_window_px", "heatmap.window_px"),
    ("order", "order"),
    ("mean_distance", "mean_distance"),
    ("task_loss_factor", "task_loss_factor"),
];

const SUPERVISED: &[(&str, &str)] = &[
    ("jitter_px", "jitter_shift_px"),
    ("jitter_turn_rad", "jitter_rotation_rad"),
];

const OPTIMISER: &[(&str, &str)] = &[
    ("adam.rate", "adam.learning_rate"),
    ("averaging", "ema_decay"),
    ("schedule.rest_steps", "schedule.frozen_steps"),
];

/// Settings of `method.lifted` that are gone, and the value that changed nothing.
const REMOVED: &[(&str, f64)] = &[
    ("seed_box_share", 1.0),
    ("reseed_below", 0.0),
    ("coarse_to_fine_steps", 0.0),
    ("lambda_warmup_steps", 0.0),
];

/// What a renamed key is called now.
pub fn new_name(old: &str) -> Option<&'static str> {
    let others = [(SCENES, "dataset"), ("context", "context_px")];
    let last = |old: &'static str| old.rsplit('.').next().unwrap_or(old);
    let renamed = OPTIMISER.iter().chain(LIFTED).chain(&others);
    renamed
        .filter(|(known, new)| known != new)
        .find(|(known, _)| last(known) == old)
        .map(|(_, new)| *new)
}

/// Whether a recipe or a model's `config.json` is of the old form.
pub fn is_old(table: &Table) -> bool {
    table.contains_key(SCENES)
}

/// The new form of a recipe or of a model's `config.json`.
///
/// # Errors
/// When it uses a setting that no longer exists.
pub fn translate(mut table: Table) -> Result<Table> {
    move_value(&mut table, SCENES, "dataset");
    if let Some(Value::Table(networks)) = table.get_mut("optimiser") {
        for (_, optimiser) in networks.iter_mut() {
            rename(optimiser, OPTIMISER);
        }
    }
    if let Some(Value::Table(method)) = table.get_mut("method") {
        if let Some(Value::Table(lifted)) = method.get_mut("lifted") {
            *lifted = translate_lifted(std::mem::take(lifted))?;
        }
        if let Some(supervised) = method.get_mut("supervised") {
            rename(supervised, SUPERVISED);
        }
    }
    if let Some(Value::Table(model)) = table.get_mut("model")
        && let Some(Value::Table(geometry)) = model.get_mut("geometry")
    {
        translate_geometry(geometry)?;
    }
    Ok(table)
}

/// The new form of a model's `config.json`; one that is new already stays as it is.
///
/// # Errors
/// When its patch geometry is no number.
pub fn card(card: serde_json::Value) -> Result<serde_json::Value> {
    if card.get(SCENES).is_none() {
        return Ok(card);
    }
    let table = Table::try_from(card)
        .map_err(|error| Error::Usage(format!("not the settings of a model: {error}")))?;
    Ok(serde_json::to_value(translate(table)?)?)
}

fn translate_lifted(mut old: Table) -> Result<Table> {
    let lambda = old.get("lambda").and_then(number).unwrap_or(0.0);
    for &(name, neutral) in REMOVED {
        let Some(value) = old.remove(name) else {
            continue;
        };
        let unused = name == "lambda_warmup_steps" && lambda == 0.0;
        if number(&value) != Some(neutral) && !unused {
            return Err(Error::Usage(format!(
                "`method.lifted.{name} = {value}`: this setting no longer exists; use the version that wrote this file, \
                 or {neutral}, which changes nothing"
            )));
        }
    }
    let mut new = Table::try_from(LiftedConfig::official())
        .map_err(|error| Error::Failed(format!("cannot write settings as TOML: {error}")))?;
    for (name, value) in old {
        let renamed = LIFTED.iter().find(|(known, _)| *known == name);
        put(&mut new, renamed.map_or(&name, |(_, new)| new), value);
    }
    Ok(new)
}

/// A multiple of the box becomes a margin in pixels, so that patches show the same to the bit.
fn translate_geometry(geometry: &mut Table) -> Result<()> {
    let Some(context) = geometry.remove("context") else {
        return Ok(());
    };
    let base_box = geometry.get("base_box_px").and_then(number);
    let (Some(context), Some(base_box)) = (number(&context), base_box) else {
        let reason = "`model.geometry`: `context` and `base_box_px` must be numbers";
        return Err(Error::Usage(reason.to_owned()));
    };
    let (context, base_box_px) = (context as f32, base_box as f32);
    let context_px = (base_box_px * context - base_box_px) / 2.0;
    geometry.insert("context_px".to_owned(), f64::from(context_px).into());
    Ok(())
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

fn rename(value: &mut Value, names: &[(&str, &str)]) {
    if let Value::Table(table) = value {
        for (old, new) in names {
            move_value(table, old, new);
        }
    }
}

/// Moves a value between two dotted keys, if it is there.
fn move_value(table: &mut Table, old: &str, new: &str) {
    if let Some(value) = take(table, old) {
        put(table, new, value);
    }
}

fn take(table: &mut Table, key: &str) -> Option<Value> {
    match key.split_once('.') {
        None => table.remove(key),
        Some((first, rest)) => take(table.get_mut(first)?.as_table_mut()?, rest),
    }
}

/// Puts a value at a dotted key.
fn put(table: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        None => {
            table.insert(key.to_owned(), value);
        }
        Some((first, rest)) => {
            let inner = table
                .entry(first)
                .or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}
