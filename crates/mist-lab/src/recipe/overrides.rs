//! `--set key=value`.

use toml::{Table, Value};

use super::layers::{Layers, is_choice};
use crate::error::{Error, Result};

/// The source of settings that a command line changes.
pub const SOURCE: &str = "--set";

/// Puts a value at a dotted key; a bare word is taken as text.
pub fn apply(layers: &mut Layers, setting: &str) -> Result<()> {
    let malformed = || Error::Usage(format!("`--set {setting}`: expected key=value"));
    let (key, text) = setting.split_once('=').ok_or_else(malformed)?;
    let parts: Vec<&str> = key.trim().split('.').collect();
    if parts.iter().any(|part| part.is_empty()) {
        return Err(malformed());
    }
    if let Some(part) = value_inside(&layers.table, &parts) {
        return Err(Error::Usage(format!(
            "`--set {setting}`: `{part}` has no settings inside"
        )));
    }
    let nested = parts.iter().rev().fold(parse(text.trim()), |value, &part| {
        Value::Table(Table::from_iter([(part.to_owned(), value)]))
    });
    if let Value::Table(table) = nested {
        layers.add(table, SOURCE);
    }
    Ok(())
}

/// The part of a path, before its last, that is a plain value in a table.
fn value_inside<'a>(table: &Table, parts: &[&'a str]) -> Option<&'a str> {
    let mut place = table;
    for (index, part) in parts.iter().enumerate().take(parts.len().saturating_sub(1)) {
        match place.get(*part)? {
            Value::Table(inner) => place = inner,
            _ if is_choice(&parts[..=index]) => return None,
            _ => return Some(part),
        }
    }
    None
}

fn parse(text: &str) -> Value {
    let parsed = format!("value = {text}").parse::<Table>();
    // Text with a line break could hold further keys.
    let single = parsed.ok().filter(|table| table.len() == 1);
    let value = single.and_then(|mut table| table.remove("value"));
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}
