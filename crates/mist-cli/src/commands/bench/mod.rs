//! `mist bench`: what this machine does in a second.

mod networks;
mod scenes;
mod timing;

use anyhow::Result;
use serde::Serialize;

use super::Say;
use crate::cli::{Bench, Workload};
use crate::stdout;

/// One figure.
#[derive(Debug, Serialize)]
struct Measurement {
    name: &'static str,
    value: f64,
    unit: &'static str,
}

/// Measures and prints a line per figure, or JSON.
pub fn run(command: &Bench, say: Say) -> Result<()> {
    let wanted = |workload| command.workloads.is_empty() || command.workloads.contains(&workload);
    let mut figures = Vec::new();
    if wanted(Workload::Scenes) {
        figures.extend(scenes::measure(&command.place, command.rounds, say)?);
    }
    if wanted(Workload::Networks) {
        figures.extend(networks::measure(command.device, command.rounds, say)?);
    }
    if command.json {
        return stdout::write(&format!("{}\n", serde_json::to_string_pretty(&figures)?));
    }
    let lines = figures
        .iter()
        .map(|figure| format!("{}\t{:.1}\t{}\n", figure.name, figure.value, figure.unit));
    stdout::write(&lines.collect::<String>())
}
