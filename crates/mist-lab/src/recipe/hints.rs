//! Help with misspelt names.

use super::legacy;

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
    let expected: Vec<&str> = quoted.collect();
    if let Some(new) = legacy::new_name(given) {
        return format!("unknown {what} `{given}`; it is called `{new}` now");
    }
    match nearest(given, expected.into_iter()) {
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
