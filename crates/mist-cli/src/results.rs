//! Result files: what an experiment reached, and all it takes to do it again.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mist::metrics::{Interval, MetricSet};
use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::run::metrics_log::Line;
use crate::run::whole_file;

/// One finished experiment.
#[derive(Debug, Serialize, Deserialize)]
pub struct ResultFile {
    pub experiment: String,
    pub method: String,
    pub dataset: String,
    pub command: String,
    /// The code that trained it.
    pub commit: Option<String>,
    pub seed: u64,
    /// The recipe as it was; results outlive settings.
    pub config: serde_json::Value,
    pub machine: Machine,
    /// Seconds of training.
    pub wall_secs: f64,
    pub images_seen: u64,
    pub test_images: u64,
    /// Seconds that a test image took when judged, drawing it included.
    #[serde(default)]
    pub secs_per_image: Option<f64>,
    /// Peak memory when judged.
    #[serde(default)]
    pub peak_memory_mb: Option<f64>,
    pub metrics: MetricSet<f64>,
    pub intervals: MetricSet<Interval>,
    pub curve: Vec<Line>,
}

impl ResultFile {
    /// K of its recipe.
    pub fn instances(&self) -> Option<u64> {
        let instances = self.config.pointer("/model/extractor/instances")?;
        instances.as_u64()
    }

    /// Writes `<experiment>.seed<N>.json`.
    pub fn save(&self, directory: &Path) -> Result<PathBuf> {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
        let name = format!("{}.seed{}.json", self.experiment, self.seed);
        let path = directory.join(name);
        let mut json = serde_json::to_vec_pretty(self)?;
        json.push(b'\n');
        whole_file::write(&path, &json)?;
        Ok(path)
    }
}
