//! Whatever a recipe's text is: a recipe or an error, never a panic.

use proptest::prelude::*;

use super::*;

/// What is done to a text, line by line.
#[derive(Debug, Clone)]
enum Change {
    Remove,
    Double,
    Replace(String),
    Value(String),
}

impl Change {
    fn apply(&self, lines: &mut Vec<String>, place: usize) {
        let line = &mut lines[place];
        match self {
            Self::Remove => drop(lines.remove(place)),
            Self::Double => {
                let line = line.clone();
                lines.insert(place, line);
            }
            Self::Replace(text) => *line = text.clone(),
            Self::Value(value) => {
                let key = line.split('=').next().unwrap_or_default().to_owned();
                *line = format!("{key}= {value}");
            }
        }
    }
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|value| value.to_string()),
        any::<f64>().prop_map(|value| format!("{value:?}")),
        "\"[a-z_]{0,12}\"",
        "\\[[0-9, .\"]{0,20}\\]",
        "\\{[a-z =0-9]{0,20}\\}",
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        1 => Just(Change::Remove),
        1 => Just(Change::Double),
        1 => "\\PC{0,40}|\\[[a-z.]{0,20}\\]".prop_map(Change::Replace),
        4 => value().prop_map(Change::Value),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_recipes_are_recipes_or_errors(
        name in prop::sample::select(names().collect::<Vec<_>>()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), change()), 1..5),
    ) {
        let whole = Recipe::load(name, &[]).unwrap().to_toml().unwrap();
        let mut lines: Vec<String> = whole.lines().map(str::to_owned).collect();
        for (place, change) in changes {
            let place = place.index(lines.len());
            change.apply(&mut lines, place);
        }
        let _ = Recipe::from_resolved(&lines.join("\n"));
    }

    #[test]
    fn any_file_is_a_recipe_or_an_error(text in "\\PC{0,200}|[a-z.=\\[\\]{}\"0-9 \n]{0,200}") {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("recipe.toml");
        std::fs::write(&path, text).unwrap();
        prop_assert!(Recipe::load(path.to_str().unwrap(), &[]).is_err());
    }
}
