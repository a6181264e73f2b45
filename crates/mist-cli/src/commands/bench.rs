//! `mist bench`: what this machine does, alone or beside PyTorch.

use std::path::{Path, PathBuf};
use std::process::Command;

use mist_lab::bench::top_k::{Cost, Place};
use mist_lab::bench::{
    CompareOptions, MeasureOptions, TimeToAccuracyOptions, Workload, compare, measure, scaling,
    time_to_accuracy, top_k,
};
use mist_lab::run::whole_file;
use mist_lab::{Error, Result};

use crate::cli::Bench;
use crate::console::Console;
use crate::stdout;

/// Measures and prints a line per figure, or JSON.
pub fn run(command: &Bench, console: &mut Console) -> Result<()> {
    let workloads = if command.workloads.is_empty() {
        &Workload::ALL
    } else {
        command.workloads.as_slice()
    };
    command.precision.select()?;
    let device = command.device.device()?;
    let (json, lines) = if command.time_to_accuracy {
        let mut targets = command.target.clone();
        targets.sort_by(f64::total_cmp);
        let options = TimeToAccuracyOptions {
            sides: command.sides.clone(),
            seeds: command.seeds,
            targets,
            limit: command.limit,
            program: this_program()?,
            python: command.python.clone(),
            setting: command.setting.clone(),
            data: command.place.data.clone(),
        };
        let times = time_to_accuracy(&options, console)?;
        (serde_json::to_string_pretty(&times)?, times.to_lines())
    } else if let Some(place) = command.top_k_place {
        let cost = top_k::measure_one(place, command.rounds, &device)?;
        let json = serde_json::to_string(&cost)?;
        (json.clone(), format!("{json}\n"))
    } else if command.top_k {
        let measure = |place| top_k_cost(place, command.rounds);
        let costs = top_k::measure_all(command.rounds, &measure, console)?;
        if let Some(path) = &command.plot {
            save(path, &costs.to_svg())?;
        }
        (serde_json::to_string_pretty(&costs)?, costs.to_lines())
    } else if command.scaling {
        let curves = scaling::measure(&device, command.rounds, console)?;
        if let Some(path) = &command.plot {
            save(path, &scaling::to_svg(&curves))?;
        }
        (
            serde_json::to_string_pretty(&curves)?,
            scaling::to_lines(&curves),
        )
    } else if command.against_pytorch {
        let options = CompareOptions {
            workloads,
            device,
            rounds: command.rounds,
            python: command.python.clone(),
            train_step_memory_mb: &train_step_memory_mb,
        };
        let comparison = compare(&options, console)?;
        (
            serde_json::to_string_pretty(&comparison)?,
            comparison.to_lines(),
        )
    } else {
        let options = MeasureOptions {
            workloads: match command.scenes {
                true => Vec::new(),
                false => workloads.to_vec(),
            },
            scenes: command.scenes || command.workloads.is_empty(),
            rounds: command.rounds,
            device,
            data: command.place.data.clone(),
        };
        let figures = measure(&options, console)?;
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

fn save(path: &Path, text: &str) -> Result<()> {
    whole_file::write(path, text.as_bytes())
}

fn this_program() -> Result<PathBuf> {
    let failed = |error| Error::Failed(format!("this program cannot be found again: {error}"));
    std::env::current_exe().map_err(failed)
}

/// What this program prints when it is run again, as JSON.
fn measured_apart(arguments: &[&str]) -> Result<serde_json::Value> {
    let failed =
        |reason: &str| Error::Failed(format!("cannot measure in a process apart: {reason}"));
    let output = Command::new(this_program()?)
        .arg("bench")
        .args(arguments)
        .args(["--json", "-q"])
        .output()
        .map_err(|error| failed(&error.to_string()))?;
    serde_json::from_slice(&output.stdout).map_err(|_| failed("no figures came back"))
}

fn top_k_cost(place: Place, rounds: u16) -> Result<Cost> {
    let (place, rounds) = (place.to_string(), rounds.to_string());
    let cost = measured_apart(&["--top-k-place", &place, "--rounds", &rounds])?;
    Ok(serde_json::from_value(cost)?)
}

/// Peak memory of a process that takes training steps and nothing else.
fn train_step_memory_mb() -> Result<f64> {
    let failed = |reason: &str| Error::Failed(format!("cannot measure our memory: {reason}"));
    let report = measured_apart(&["train_step", "--rounds", "2"])?;
    let memory = report
        .get("peak_memory_mb")
        .and_then(serde_json::Value::as_f64);
    memory.ok_or_else(|| failed("this system does not tell a process's peak memory"))
}
