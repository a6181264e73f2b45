//! Result files: what an experiment reached, and all it takes to do it again.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use mist::measurements::Measurements;
use mist::metrics::Interval;
use serde::{Deserialize, Serialize};

use crate::error::{AtPath, Error, Result};
use crate::machine::Machine;
use crate::run::metrics_log::Line;
use crate::run::whole_file;

/// One finished experiment.
#[derive(Debug, Serialize, Deserialize)]
pub struct ResultFile {
    /// The recipe's name.
    pub experiment: String,
    /// How it was trained.
    pub method: String,
    /// What it was evaluated on: data set and split.
    pub dataset: String,
    /// Does it again.
    pub command: String,
    /// The code that trained it.
    pub commit: Option<String>,
    /// Of weights and scenes.
    pub seed: u64,
    /// The recipe as it was; results outlive settings.
    pub config: serde_json::Value,
    /// Where it was trained.
    pub machine: Machine,
    /// Seconds of training.
    pub wall_secs: f64,
    /// Images that training saw, repeats counted.
    pub images_seen: u64,
    /// Images that it was evaluated on.
    pub test_images: u64,
    /// Seconds that a test image took when evaluated, drawing it included.
    #[serde(default)]
    pub secs_per_image: Option<f64>,
    /// Peak memory when evaluated.
    #[serde(default)]
    pub peak_memory_mb: Option<f64>,
    /// What it reached.
    pub metrics: Measurements,
    /// 95 % bootstrap intervals over images.
    pub intervals: Measurements<Interval>,
    /// How training went.
    pub curve: Vec<Line>,
}

impl ResultFile {
    /// K of its recipe.
    pub fn instances(&self) -> Option<u64> {
        let instances = self.config.pointer("/model/extractor/instances")?;
        instances.as_u64()
    }

    /// Writes `<experiment>.seed<N>.json` and returns its path.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn save(&self, directory: &Path) -> Result<PathBuf> {
        fs::create_dir_all(directory).at("create", directory)?;
        let name = format!("{}.seed{}.json", self.experiment, self.seed);
        let path = directory.join(name);
        let mut json = serde_json::to_vec_pretty(self)?;
        json.push(b'\n');
        whole_file::write(&path, &json)?;
        Ok(path)
    }
}

/// Every result file of a directory, in order of their names; none where there is no such directory.
///
/// # Errors
/// When one cannot be read or is damaged.
pub fn read_all(directory: &Path) -> Result<Vec<ResultFile>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.at("read", directory)?,
    };
    let mut paths = entries
        .map(|entry| Ok(entry.at("read", directory)?.path()))
        .collect::<Result<Vec<PathBuf>>>()?;
    let is_result = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.contains(".seed") && name.ends_with(".json")
    };
    paths.retain(|path| is_result(path));
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let text = fs::read_to_string(path).at("read", path)?;
            serde_json::from_str(&text).map_err(|error| Error::input(path, error))
        })
        .collect()
}
