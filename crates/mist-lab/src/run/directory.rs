//! The directory of one training.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::checkpoint::Checkpoints;
use super::event_log::EventLog;
use super::whole_file;
use crate::error::{AtPath, Context, Error, Result};
use crate::machine::{self, Machine};
use crate::recipe::Recipe;

const CONFIG: &str = "config.toml";
const ENVIRONMENT: &str = "env.json";

/// A run's files by their names.
#[derive(Clone, Debug)]
pub struct RunDirectory {
    root: PathBuf,
}

/// What a training ran on.
#[derive(Debug, Serialize, Deserialize)]
pub struct Environment {
    version: String,
    /// The commit of the code, where it is known.
    pub commit: Option<String>,
    command: Vec<String>,
    /// Where it was trained.
    pub machine: Machine,
    instruction_set: String,
}

impl Environment {
    /// The command that started the run, for a shell.
    pub fn shell_command(&self) -> String {
        let arguments = self.command.iter().skip(1);
        let quoted = arguments.map(
            |argument| match argument.contains([' ', '"', '$', ';', '&']) {
                true => format!("'{argument}'"),
                false => argument.clone(),
            },
        );
        let words: Vec<String> = std::iter::once("mist".to_owned()).chain(quoted).collect();
        words.join(" ")
    }
}

impl RunDirectory {
    /// A new run: `out` if given, else the next number under `runs/<recipe>/`.
    ///
    /// # Errors
    /// When `out` holds a run already, or cannot be written.
    pub fn create(recipe: &Recipe, out: Option<&Path>) -> Result<Self> {
        let root = match out {
            Some(out) => out.to_owned(),
            None => next_number(&Path::new("runs").join(&recipe.experiment))?,
        };
        if root.join(CONFIG).exists() {
            return Err(Error::Usage(format!(
                "{} holds a run already; continue it with --resume or choose another --out",
                root.display()
            )));
        }
        let run = Self { root };
        for directory in [run.checkpoint_directory(), run.weights(), run.samples()] {
            fs::create_dir_all(&directory).at("create", &directory)?;
        }
        let environment = Environment {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: machine::commit(),
            command: std::env::args().collect(),
            machine: Machine::here(),
            instruction_set: mist_kernels::simd::Isa::selected()?.to_string(),
        };
        let environment = serde_json::to_vec_pretty(&environment)?;
        whole_file::write(&run.root.join(ENVIRONMENT), &environment)?;
        whole_file::write(&run.root.join(CONFIG), recipe.to_toml()?.as_bytes())?;
        Ok(run)
    }

    /// A run that exists.
    ///
    /// # Errors
    /// When there is none.
    pub fn open(root: &Path) -> Result<Self> {
        if !root.join(CONFIG).is_file() {
            let root = root.display();
            return Err(Error::Usage(format!("{root} is not a run: no {CONFIG}")));
        }
        Ok(Self {
            root: root.to_owned(),
        })
    }

    /// The newest run of a recipe, if there is one.
    ///
    /// # Errors
    /// When `runs/` cannot be read.
    pub fn newest(experiment: &str) -> Result<Option<Self>> {
        let parent = Path::new("runs").join(experiment);
        let newest = numbers(&parent)?.into_iter().max();
        newest
            .map(|number| Self::open(&parent.join(number.to_string())))
            .transpose()
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The recipe as it was resolved.
    ///
    /// # Errors
    /// When its file is missing or damaged.
    pub fn recipe(&self) -> Result<Recipe> {
        let path = self.root.join(CONFIG);
        let text = fs::read_to_string(&path).at("read", &path)?;
        Recipe::from_resolved(&text).context(path.display())
    }

    /// What the run was started with.
    ///
    /// # Errors
    /// When its file is missing or damaged.
    pub fn environment(&self) -> Result<Environment> {
        let path = self.root.join(ENVIRONMENT);
        let text = fs::read_to_string(&path).at("read", &path)?;
        serde_json::from_str(&text).map_err(|error| Error::input(&path, error))
    }

    /// Its checkpoints.
    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints::new(self.checkpoint_directory())
    }

    /// Where its checkpoints are.
    pub fn checkpoint_directory(&self) -> PathBuf {
        self.root.join("checkpoints")
    }

    /// Where its weights are: `best.safetensors` and `last.safetensors`.
    pub fn weights(&self) -> PathBuf {
        self.root.join("weights")
    }

    /// Where the pictures drawn while training are.
    pub fn samples(&self) -> PathBuf {
        self.root.join("samples")
    }

    /// What happened to it, and when.
    pub fn event_log(&self) -> EventLog {
        EventLog::new(self.root.join("log.jsonl"))
    }

    /// Its `metrics.jsonl`.
    pub fn metrics(&self) -> PathBuf {
        self.root.join("metrics.jsonl")
    }
}

fn next_number(parent: &Path) -> Result<PathBuf> {
    let newest = numbers(parent)?.into_iter().max().unwrap_or(0);
    Ok(parent.join((newest + 1).to_string()))
}

fn numbers(parent: &Path) -> Result<Vec<u64>> {
    if !parent.exists() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(parent).at("read", parent)?;
    let mut numbers = Vec::new();
    for entry in entries {
        let name = entry.at("read", parent)?.file_name();
        numbers.extend(name.to_string_lossy().parse::<u64>());
    }
    Ok(numbers)
}
