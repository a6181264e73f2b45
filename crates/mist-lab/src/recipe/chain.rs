//! Recipes that extend others: from a name to the tables of all files that take part.

use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::{built_in, hints, legacy};
use crate::error::{AtPath, Context, Error, Result};

/// More than any sensible chain of recipes has.
const MAX_DEPTH: usize = 16;

const EXTENDS: &str = "extends";

/// The settings of one file.
#[derive(Debug)]
pub struct Layer {
    /// The built-in name or the path of the file.
    pub source: String,
    /// What it says, without `extends`.
    pub table: Table,
}

/// The layers of a recipe, those of the recipe it extends first.
pub fn read(name: &str) -> Result<Vec<Layer>> {
    let mut layers: Vec<Layer> = Vec::new();
    let mut visited: Vec<Place> = Vec::new();
    let mut next = Some(Place::of(name, None));
    while let Some(place) = next {
        let sources = layers.iter().map(|layer| layer.source.clone());
        let chain: Vec<String> = sources.chain([place.source()]).collect();
        let chain = chain.join(" extends ");
        let text = place.text().context(&chain)?;
        let identity = place.identity();
        if visited.contains(&identity) {
            return Err(Error::Usage(format!("{chain}: a recipe extends itself")));
        }
        if layers.len() == MAX_DEPTH {
            let reason = format!("{chain}: more than {MAX_DEPTH} recipes");
            return Err(Error::Usage(reason));
        }
        visited.push(identity);
        let (table, parent) = parse(&text).context(&chain)?;
        next = parent.map(|parent| Place::of(&parent, place.directory()));
        layers.push(Layer {
            source: place.source(),
            table,
        });
    }
    layers.reverse();
    Ok(layers)
}

fn parse(text: &str) -> Result<(Table, Option<String>)> {
    let mut table: Table = text
        .parse()
        .map_err(|error| Error::Usage(format!("not valid TOML: {error}")))?;
    let parent = match table.remove(EXTENDS) {
        None => None,
        Some(Value::String(name)) => Some(name),
        Some(_) => {
            let reason = "`extends` must be the name of a built-in recipe or of a TOML file";
            return Err(Error::Usage(reason.to_owned()));
        }
    };
    if legacy::is_old(&table) {
        if parent.is_some() {
            let reason = "`scenes` is called `dataset` in recipes that extend others";
            return Err(Error::Usage(reason.to_owned()));
        }
        table = legacy::translate(table)?;
    }
    Ok((table, parent))
}

/// Where a recipe is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    BuiltIn(&'static str),
    File(PathBuf),
}

impl Place {
    /// A built-in recipe, or else a file relative to a directory.
    fn of(name: &str, directory: Option<&Path>) -> Self {
        match built_in::names().find(|known| *known == name) {
            Some(known) => Self::BuiltIn(known),
            None => Self::File(directory.unwrap_or(Path::new("")).join(name)),
        }
    }

    fn source(&self) -> String {
        match self {
            Self::BuiltIn(name) => (*name).to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    fn directory(&self) -> Option<&Path> {
        match self {
            Self::BuiltIn(_) => None,
            Self::File(path) => path.parent(),
        }
    }

    /// The same for every path to a file that exists.
    fn identity(&self) -> Self {
        match self {
            Self::BuiltIn(name) => Self::BuiltIn(name),
            Self::File(path) => Self::File(fs::canonicalize(path).unwrap_or_else(|_| path.clone())),
        }
    }

    fn text(&self) -> Result<String> {
        match self {
            Self::BuiltIn(name) => Ok(built_in::text(name).unwrap_or_default().to_owned()),
            Self::File(path) => {
                let name = path.to_string_lossy();
                let looks_like_a_file = path.extension().is_some() || name.contains(['/', '\\']);
                if !looks_like_a_file && !path.is_file() {
                    return Err(unknown(&name));
                }
                fs::read_to_string(path).at("read the recipe", path)
            }
        }
    }
}

fn unknown(name: &str) -> Error {
    let nearest = hints::nearest(name, built_in::names());
    let hint = nearest.map_or(String::new(), |near| format!(" Did you mean `{near}`?"));
    Error::Usage(format!(
        "there is no recipe `{name}`.{hint} Built in: {}; or give a TOML file",
        built_in::names().collect::<Vec<_>>().join(", ")
    ))
}
