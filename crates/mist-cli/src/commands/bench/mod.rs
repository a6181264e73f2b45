//! `mist bench`: what this machine does, alone or beside PyTorch.

mod compare;
mod peer;
mod report;
mod scaling;
mod scenes;
mod timing;
mod workloads;

pub use workloads::Workload;

use std::path::Path;

use anyhow::{Context, Result};
use mist_kernels::simd::Isa;

use self::report::{Figure, Figures};
use super::Say;
use crate::cli::Bench;
use crate::machine::{self, Machine};
use crate::stdout;

/// Measures and prints a line per figure, or JSON.
pub fn run(command: &Bench, say: Say) -> Result<()> {
    let workloads = if command.workloads.is_empty() {
        Workload::ALL.to_vec()
    } else {
        command.workloads.clone()
    };
    command.precision.select()?;
    let device = command.device.device()?;
    let (json, lines) = if command.scaling {
        let curves = scaling::measure(&device, command.rounds, say)?;
        if let Some(path) = &command.plot {
            save(path, &scaling::to_svg(&curves))?;
        }
        (
            serde_json::to_string_pretty(&curves)?,
            scaling::to_lines(&curves),
        )
    } else if command.against_pytorch {
        let comparison = compare::run(&workloads, &device, command.rounds, &command.python, say)?;
        (
            serde_json::to_string_pretty(&comparison)?,
            comparison.to_lines(),
        )
    } else {
        let figures = alone(command, &workloads, &device, say)?;
        (serde_json::to_string_pretty(&figures)?, figures.to_lines())
    };
    if let Some(path) = &command.record {
        save(path, &format!("{json}\n"))?;
    }
    stdout::write(&if command.json {
        format!("{json}\n")
    } else {
        lines
    })
}

fn alone(
    command: &Bench,
    workloads: &[Workload],
    device: &burn::tensor::Device,
    say: Say,
) -> Result<Figures> {
    let mut figures = Vec::new();
    if command.workloads.is_empty() || command.scenes {
        figures.extend(scenes::measure(&command.place, command.rounds, say)?);
    }
    for workload in workloads.iter().filter(|_| !command.scenes) {
        say.line(format_args!("measuring {workload} on {}", command.device));
        let secs = timing::median_secs(command.rounds, workload.build(device)?)?;
        figures.push(Figure {
            name: workload.name(),
            value: secs * 1e3,
            unit: "ms",
        });
    }
    Ok(Figures {
        machine: Machine::here(),
        commit: machine::commit(),
        isa: Isa::selected()?.to_string(),
        figures,
        peak_memory_mb: machine::peak_memory_mb(),
    })
}

fn save(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
