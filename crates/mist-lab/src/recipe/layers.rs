//! Settings merged from several sources, and which of them each came from.

use std::collections::BTreeMap;

use toml::{Table, Value};

/// Settings that are one of several named alternatives: another name replaces the whole table.
const CHOICES: &[&[&str]] = &[
    &["method"],
    &["method", "lifted", "heatmap", "loss"],
    &["model", "task"],
];

/// The settings so far, and the source of each.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// The settings.
    pub table: Table,
    sources: BTreeMap<Vec<String>, String>,
}

impl Layers {
    /// Puts settings over those that are there: tables are merged, everything else is replaced.
    pub fn add(&mut self, settings: Table, source: &str) {
        let Self { table, sources } = self;
        let mut merge = Merge { sources, source };
        merge.tables(table, settings, &mut Vec::new());
    }

    /// The source of a setting; none if no source says anything about it.
    pub fn source(&self, path: &[&str]) -> Option<&str> {
        let path: Vec<String> = path.iter().map(|&part| part.to_owned()).collect();
        self.sources.get(&path).map(String::as_str)
    }
}

/// Whether a setting is one of several alternatives.
pub fn is_choice(path: &[&str]) -> bool {
    CHOICES.contains(&path)
}

struct Merge<'a> {
    sources: &'a mut BTreeMap<Vec<String>, String>,
    source: &'a str,
}

impl Merge<'_> {
    fn tables(&mut self, below: &mut Table, above: Table, path: &mut Vec<String>) {
        for (key, value) in above {
            path.push(key.clone());
            match (below.get_mut(&key), value) {
                (Some(Value::Table(old)), Value::Table(new)) if !replaces(path, old, &new) => {
                    self.tables(old, new, path);
                }
                (_, value) => {
                    self.sources.retain(|known, _| !known.starts_with(path));
                    self.record(&value, path);
                    below.insert(key, value);
                }
            }
            path.pop();
        }
    }

    fn record(&mut self, value: &Value, path: &mut Vec<String>) {
        let Value::Table(table) = value else {
            self.sources.insert(path.clone(), self.source.to_owned());
            return;
        };
        for (key, value) in table {
            path.push(key.clone());
            self.record(value, path);
            path.pop();
        }
    }
}

/// Whether one alternative takes the place of another.
fn replaces(path: &[String], old: &Table, new: &Table) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    is_choice(&path) && !new.is_empty() && !new.keys().any(|name| old.contains_key(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(texts: &[&str]) -> Layers {
        let mut layers = Layers::default();
        for (number, text) in texts.iter().enumerate() {
            layers.add(text.parse().unwrap(), &number.to_string());
        }
        layers
    }

    fn table(text: &str) -> Table {
        text.parse().unwrap()
    }

    #[test]
    fn tables_are_merged_and_values_replaced() {
        let layers = merged(&[
            "steps = 1\nmodel = { scales = [1, 2], detector = { blocks = 4, channels = 8 } }",
            "model = { scales = [3], detector = { blocks = 6 } }",
        ]);
        let expected =
            "steps = 1\nmodel = { scales = [3], detector = { blocks = 6, channels = 8 } }";
        assert_eq!(layers.table, table(expected));
        assert_eq!(layers.source(&["steps"]), Some("0"));
        assert_eq!(layers.source(&["model", "scales"]), Some("1"));
        assert_eq!(layers.source(&["model", "detector", "blocks"]), Some("1"));
        assert_eq!(layers.source(&["model", "detector", "channels"]), Some("0"));
        assert_eq!(layers.source(&["batch"]), None);
    }

    #[test]
    fn another_alternative_replaces_the_whole_table() {
        let lifted = "method.lifted = { task_loss_factor = 0.5, keypoints = { steps = 2 } }";
        let layers = merged(&[lifted, "method.supervised = { jitter_shift_px = 1.5 }"]);
        let expected = table("method.supervised = { jitter_shift_px = 1.5 }");
        assert_eq!(layers.table, expected);
        assert_eq!(
            layers.source(&["method", "lifted", "task_loss_factor"]),
            None
        );
        let same = merged(&[lifted, "method.lifted = { keypoints = { lambda = 1.0 } }"]);
        let expected =
            "method.lifted = { task_loss_factor = 0.5, keypoints = { steps = 2, lambda = 1.0 } }";
        assert_eq!(same.table, table(expected));
    }

    #[test]
    fn alternatives_with_and_without_settings_replace_each_other() {
        let weighted = "method.lifted.heatmap.loss.weighted_mean.sharpness = 5.0";
        let sum = "method.lifted.heatmap.loss = \"sum\"";
        assert_eq!(merged(&[weighted, sum]).table, table(sum));
        assert_eq!(merged(&[sum, weighted]).table, table(weighted));
    }
}
