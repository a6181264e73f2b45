//! What convolutional dictionary learning reached on Gabor noise: the files that `python/dictionary/compare.py` writes.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

/// One file, `dictionary-<scenes>.json`.
#[derive(Debug, Deserialize)]
pub struct DictionaryResult {
    pub instances: u64,
    pub rmse: f64,
    pub impulse_recall: f64,
    pub secs_per_image: f64,
    pub peak_memory_mb: f64,
}

/// All of them, fewest impulses first.
pub fn read(directory: &Path) -> Result<Vec<DictionaryResult>> {
    let mut results = Vec::new();
    if !directory.is_dir() {
        return Ok(results);
    }
    let entries =
        fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("dictionary-") && name.ends_with(".json") {
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let result: DictionaryResult =
                serde_json::from_str(&text).with_context(|| path.display().to_string())?;
            results.push(result);
        }
    }
    results.sort_by_key(|result| result.instances);
    Ok(results)
}
