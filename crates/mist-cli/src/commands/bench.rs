//! `mist bench`: what this machine does, alone or beside PyTorch.

use std::path::{Path, PathBuf};
use std::process::Command;

use mist_lab::bench::{
    CompareOptions, MeasureOptions, TimeToAccuracyOptions, Workload, compare, measure, ranks,
    scaling, time_to_accuracy,
};
use mist_lab::run::whole_file;
use mist_lab::{Error, Result, mpi};

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
    } else if command.ranks {
        let communicator = mpi::connect()?;
        let rank = communicator.rank();
        let figures = ranks::measure(&device, communicator, command.rounds)?;
        if rank > 0 {
            return Ok(());
        }
        (serde_json::to_string_pretty(&figures)?, figures.to_lines())
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

/// Runs this program again and reads the peak memory that it reports.
fn train_step_memory_mb() -> Result<f64> {
    let failed = |reason: &str| Error::Failed(format!("cannot measure our memory: {reason}"));
    let output = Command::new(this_program()?)
        .args(["bench", "train_step", "--rounds", "2", "--json", "-q"])
        .output()
        .map_err(|error| failed(&error.to_string()))?;
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|_| failed("no figures came back"))?;
    let memory = report
        .get("peak_memory_mb")
        .and_then(serde_json::Value::as_f64);
    memory.ok_or_else(|| failed("this system does not tell a process's peak memory"))
}
