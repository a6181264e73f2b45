//! The directory of one training.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::checkpoint::Checkpoints;
use super::event_log::EventLog;
use super::lock::RunLock;
use super::whole_file;
use crate::error::{AtPath, Context, Error, Result};
use crate::machine::{self, Machine};
use crate::observer::{Observer, Silent};
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
    fn here() -> Result<Self> {
        // Paths need not be UTF-8.
        let command = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: machine::commit(),
            command: command.collect(),
            machine: Machine::here(),
            instruction_set: mist_kernels::simd::Isa::selected()?.to_string(),
        })
    }

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
    /// When the recipe is out of range, or `out` holds a run already or cannot be written.
    pub fn create(recipe: &Recipe, out: Option<&Path>) -> Result<Self> {
        recipe.check()?;
        let config = recipe.to_toml()?;
        let environment = serde_json::to_vec_pretty(&Environment::here()?)?;
        let (root, is_new) = match out {
            Some(out) => {
                let is_new = !out.exists();
                fs::create_dir_all(out).at("create", out)?;
                (out.to_owned(), is_new)
            }
            None => (
                claim_number(&Path::new("runs").join(&recipe.experiment))?,
                true,
            ),
        };
        let run = Self { root };
        run.write_files(config.as_bytes(), &environment)
            .inspect_err(|_| {
                if is_new {
                    // The first error matters more than this one; without a recipe in it, the directory can be used again.
                    let _ = fs::remove_dir_all(&run.root);
                }
            })?;
        Ok(run)
    }

    /// The recipe last: with it the directory is a run.
    fn write_files(&self, config: &[u8], environment: &[u8]) -> Result<()> {
        let _lock = RunLock::acquire(&self.root, &mut Silent)?;
        if self.root.join(CONFIG).exists() {
            return Err(Error::Usage(format!(
                "{} holds a run already; continue it with --resume or choose another --out",
                self.root.display()
            )));
        }
        for directory in [self.checkpoint_directory(), self.weights(), self.samples()] {
            fs::create_dir_all(&directory).at("create", &directory)?;
        }
        whole_file::write(&self.root.join(ENVIRONMENT), environment)?;
        whole_file::write(&self.root.join(CONFIG), config)
    }

    /// Takes the lock that keeps other trainings out.
    ///
    /// # Errors
    /// When another process trains this run.
    pub fn lock(&self, observer: &mut dyn Observer) -> Result<RunLock> {
        RunLock::acquire(&self.root, observer)
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
        newest_in(&Path::new("runs").join(experiment))
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

    /// The weights kept after a number of steps.
    pub fn snapshot(&self, step: u64) -> PathBuf {
        self.weights().join(format!("step-{step:07}.safetensors"))
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

/// The run of the highest number; a start that was killed at once left a number without a run.
fn newest_in(parent: &Path) -> Result<Option<RunDirectory>> {
    let paths = numbers(parent)?.into_iter();
    let runs = paths.filter(|number| parent.join(number.to_string()).join(CONFIG).is_file());
    runs.max()
        .map(|number| RunDirectory::open(&parent.join(number.to_string())))
        .transpose()
}

/// Makes the directory of the next number; of two processes at once, each gets one of its own.
fn claim_number(parent: &Path) -> Result<PathBuf> {
    fs::create_dir_all(parent).at("create", parent)?;
    let newest = numbers(parent)?.into_iter().max().unwrap_or(0);
    let mut number = u64::from(newest) + 1;
    loop {
        let path = parent.join(number.to_string());
        match fs::create_dir(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            made => return made.at("create", &path).map(|()| path),
        }
    }
}

fn numbers(parent: &Path) -> Result<Vec<u32>> {
    let entries = match fs::read_dir(parent) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.at("read", parent)?,
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let name = entry.at("read", parent)?.file_name();
        // What has another name is no numbered run.
        numbers.extend(name.to_string_lossy().parse::<u32>());
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::thread;

    use super::*;
    use crate::Fault;

    #[test]
    fn starts_at_once_get_numbers_of_their_own() {
        let directory = tempfile::tempdir().unwrap();
        let parent = directory.path().join("runs/recipe");
        let claim = || {
            (0..50)
                .map(|_| claim_number(&parent).unwrap())
                .collect::<Vec<_>>()
        };
        let claimed: Vec<PathBuf> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(claim)).collect();
            threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap())
                .collect()
        });
        let different: HashSet<&PathBuf> = claimed.iter().collect();
        assert_eq!((claimed.len(), different.len()), (200, 200));
    }

    #[test]
    fn a_start_that_fails_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let mut recipe = Recipe::load("glyphs-demo", &[]).unwrap();
        recipe.seed = u64::MAX;
        let out = directory.path().join("run");
        RunDirectory::create(&recipe, Some(&out)).unwrap_err();
        assert!(!out.exists());
        recipe.seed = 1;
        let run = RunDirectory::create(&recipe, Some(&out)).unwrap();
        assert_eq!(run.recipe().unwrap(), recipe);
        let again = RunDirectory::create(&recipe, Some(&out)).unwrap_err();
        assert_eq!(again.fault(), Fault::Usage);
        assert_eq!(run.recipe().unwrap(), recipe);
    }

    #[test]
    fn a_directory_without_a_recipe_is_not_the_newest_run() {
        let directory = tempfile::tempdir().unwrap();
        let recipe = Recipe::load("glyphs-demo", &[]).unwrap();
        let first = directory.path().join("1");
        RunDirectory::create(&recipe, Some(&first)).unwrap();
        fs::create_dir(directory.path().join("2")).unwrap();
        let newest = newest_in(directory.path()).unwrap().unwrap();
        assert_eq!(newest.root(), first);
    }
}
