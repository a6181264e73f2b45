//! What convolutional dictionary learning reached on Gabor noise: the files that `python/dictionary/compare.py` writes.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::Deserialize;

use crate::error::{AtPath, Error, Result};
use crate::results::ResultFile;

/// One file, `dictionary-<scenes>.json`.
#[derive(Debug, Deserialize)]
pub struct DictionaryResult {
    /// Impulses per image.
    pub instances: u64,
    /// Of the redrawn images.
    pub rmse: f64,
    /// Share of the impulses that were found.
    pub impulse_recall: f64,
    /// Seconds per image.
    pub secs_per_image: f64,
    /// Peak memory.
    pub peak_memory_mb: f64,
}

/// All of them, fewest impulses first; none where there is no such directory.
///
/// # Errors
/// When a file cannot be read or is damaged.
pub fn read(directory: &Path) -> Result<Vec<DictionaryResult>> {
    let mut results = Vec::new();
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(results),
        entries => entries.at("read", directory)?,
    };
    for entry in entries {
        let path = entry.at("read", directory)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("dictionary-") && name.ends_with(".json") {
            let text = fs::read_to_string(&path).at("read", &path)?;
            let result: DictionaryResult =
                serde_json::from_str(&text).map_err(|error| Error::input(&path, error))?;
            results.push(result);
        }
    }
    results.sort_by_key(|result| result.instances);
    Ok(results)
}

/// Ours beside them on the same scenes as a Markdown table, a row per number of impulses; `None` without a pair.
pub fn to_markdown(results: &[ResultFile], peers: &[DictionaryResult]) -> Option<String> {
    let mut rows = String::new();
    for peer in peers {
        let ours = results.iter().find(|result| {
            result.experiment.starts_with("gabor") && result.instances() == Some(peer.instances)
        });
        let Some(ours) = ours else { continue };
        let number = |value: Option<f64>, factor: f64, digits: usize| {
            value.map_or("-".to_owned(), |value| {
                format!("{:.digits$}", value * factor)
            })
        };
        rows += &format!(
            "| {} | {} | {:.4} | {} | {:.1} | {} | {:.3} | {} | {:.0} |\n",
            peer.instances,
            number(ours.metrics.get("rmse"), 1.0, 4),
            peer.rmse,
            number(ours.metrics.get("impulse_recall"), 100.0, 1),
            peer.impulse_recall * 100.0,
            number(ours.secs_per_image, 1.0, 3),
            peer.secs_per_image,
            number(ours.peak_memory_mb, 1.0, 0),
            peer.peak_memory_mb,
        );
    }
    let heading = "**Gabor noise beside convolutional dictionary learning (sporco), which is the exact model of that \
        data**\n\n\
        | impulses | RMSE: ours | theirs | recall: ours | theirs | s per image: ours | theirs | MB: ours | theirs |\n\
        |---|---|---|---|---|---|---|---|---|\n";
    (!rows.is_empty()).then(|| format!("{heading}{rows}"))
}
