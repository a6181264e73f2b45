//! `--set key=value`, and help with misspelt keys.

use toml::{Table, Value};

use crate::error::{Error, Result};

/// Puts a value at a dotted key; a bare word is taken as text.
pub fn apply(table: &mut Table, setting: &str) -> Result<()> {
    let Some((key, text)) = setting.split_once('=') else {
        return Err(expected_pair(setting));
    };
    let value = parse(text.trim());
    let mut parts: Vec<&str> = key.trim().split('.').collect();
    let Some(last) = parts.pop().filter(|last| !last.is_empty()) else {
        return Err(expected_pair(setting));
    };
    let mut place = table;
    for part in parts {
        let entry = place
            .entry(part)
            .or_insert_with(|| Value::Table(Table::new()));
        let Value::Table(inner) = entry else {
            return Err(Error::Usage(format!(
                "`--set {setting}`: `{part}` has no settings inside"
            )));
        };
        place = inner;
    }
    place.insert(last.to_owned(), value);
    Ok(())
}

fn expected_pair(setting: &str) -> Error {
    Error::Usage(format!("`--set {setting}`: expected key=value"))
}

fn parse(text: &str) -> Value {
    let parsed = format!("value = {text}").parse::<Table>();
    let value = parsed.ok().and_then(|mut table| table.remove("value"));
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// The complaint about a recipe, with the key or choice that was probably meant.
pub fn explain(error: &toml::de::Error) -> String {
    let whole = error.to_string().trim().replace('\n', ", ");
    let message = error.message();
    let complaint = [("key", "unknown field "), ("choice", "unknown variant ")]
        .into_iter()
        .find_map(|(what, start)| Some((what, message.split_once(start)?.1)));
    let Some((what, rest)) = complaint else {
        return whole;
    };
    let mut quoted = rest.split('`').skip(1).step_by(2);
    let Some(given) = quoted.next() else {
        return whole;
    };
    match nearest(given, quoted) {
        Some(near) => format!("unknown {what} `{given}`; did you mean `{near}`?"),
        None => whole,
    }
}

/// The most similar of some names.
pub fn nearest<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names.max_by(|a, b| {
        let likeness = |name: &str| strsim::jaro_winkler(given, name);
        likeness(a).total_cmp(&likeness(b))
    })
}
