//! A recipe and where each of its settings comes from.

use super::layers::Layers;
use super::{Recipe, chain, overrides};
use crate::error::{Context, Error, Result};

/// Where comments begin, unless a line is longer.
const COMMENT_COLUMN: usize = 44;

/// A recipe, and which file or default each setting comes from.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The recipe.
    pub recipe: Recipe,
    sources: Vec<String>,
    layers: Layers,
}

impl Resolved {
    /// Reads a built-in recipe by name or a TOML file with all that it extends, then changes single settings
    /// (`key=value`).
    ///
    /// # Errors
    /// When there is no such recipe, or a setting is unknown or out of range.
    pub fn load(name: &str, settings: &[String]) -> Result<Self> {
        let files = chain::read(name)?;
        let sources: Vec<String> = files.iter().map(|file| file.source.clone()).collect();
        let mut layers = Layers::default();
        for file in files {
            // A recipe that extends another is another experiment: it would overwrite the other's results.
            layers.table.remove("experiment");
            layers.add(file.table, &file.source);
        }
        for setting in settings {
            overrides::apply(&mut layers, setting)?;
        }
        if sources.len() > 1 && !layers.table.contains_key("experiment") {
            return Err(Error::Usage(format!(
                "recipe {name}: `experiment` is missing; a recipe that extends another has a name of its own"
            )));
        }
        let recipe =
            Recipe::from_table(layers.table.clone()).context(format_args!("recipe {name}"))?;
        Ok(Self {
            recipe,
            sources,
            layers,
        })
    }

    /// The whole recipe as TOML, with the source of each setting in a comment behind it.
    ///
    /// # Errors
    /// When a value has no form in TOML.
    pub fn to_commented_toml(&self) -> Result<String> {
        // On one line each, unlike `toml::to_string_pretty`.
        let plain = toml::to_string(&self.recipe).map_err(super::not_toml)?;
        let chain: Vec<&str> = self.sources.iter().rev().map(String::as_str).collect();
        let mut commented = format!("# {}\n", in_comment(&chain.join(" extends ")));
        let mut section: Vec<&str> = Vec::new();
        for line in plain.lines() {
            if let Some(header) = line.strip_prefix('[') {
                section = header.trim_end_matches(']').split('.').collect();
            }
            match line.split_once(" = ") {
                Some((key, _)) => {
                    let path: Vec<&str> = section.iter().copied().chain([key]).collect();
                    let source = in_comment(self.layers.source(&path).unwrap_or("default"));
                    commented += &format!("{line:<COMMENT_COLUMN$} # {source}\n");
                }
                None => commented += &format!("{line}\n"),
            }
        }
        Ok(commented)
    }
}

/// Names of files may hold what ends a comment.
fn in_comment(text: &str) -> String {
    text.replace(char::is_control, "?")
}
