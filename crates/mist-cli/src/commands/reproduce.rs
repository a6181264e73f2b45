//! `mist reproduce`: the paper's tables and figures, ours beside its.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Say, eval, train};
use crate::cli::{DataPlace, Eval, Reproduce, Train, Work};
use crate::exit::Usage;
use crate::results::ResultFile;
use crate::run::directory::RunDirectory;
use crate::run::whole_file;
use crate::tables::{TABLES, Table, read_results};
use crate::{dictionary, figures, stdout};

/// Experiments of the paper's figure of convergence.
const CONVERGENCE: &[&str] = &["mnist-hard-classify", "mnist-hard-official"];

/// Runs what is missing, then prints tables or writes figures.
pub fn run(command: &Reproduce, say: Say) -> Result<()> {
    let wanted = |table: &&Table| match command.work {
        Work::Tables | Work::All => table.is_of_the_paper(),
        work => work.name() == table.name,
    };
    let tables: Vec<&Table> = TABLES.iter().filter(wanted).collect();
    let mut results = read_results(&command.results)?;
    if command.work == Work::Ablations && !command.recorded {
        return Err(
            Usage("`bash scripts/ablate.sh` trains them; then give --recorded".into()).into(),
        );
    }
    if !command.recorded {
        let mut experiments: Vec<&str> = tables
            .iter()
            .flat_map(|table| table.experiments())
            .collect();
        if matches!(command.work, Work::Figures | Work::All) {
            experiments.extend(CONVERGENCE);
        }
        experiments.sort_unstable();
        experiments.dedup();
        for experiment in experiments {
            if !results.iter().any(|result| result.experiment == experiment) {
                run_experiment(experiment, command, say)?;
            }
        }
        results = read_results(&command.results)?;
    }
    if matches!(command.work, Work::Figures | Work::All) {
        write_figures(command, &results, say)?;
    }
    let mut text = Vec::new();
    for table in tables {
        text.push(table.to_markdown(&results));
        if table.name == "gabor" {
            let peers = dictionary::read(&command.results)?;
            text.extend(dictionary::to_markdown(&results, &peers));
        }
    }
    stdout::write(&text.join("\n"))
}

fn run_experiment(experiment: &str, command: &Reproduce, say: Say) -> Result<()> {
    create(&command.figures)?;
    say.line(format_args!("{experiment}: no result yet, training it"));
    let resume = RunDirectory::newest(experiment)?.is_some();
    let place = || DataPlace {
        data: command.place.data.clone(),
    };
    train::run(
        &Train {
            recipe: experiment.to_owned(),
            settings: Vec::new(),
            resume,
            out: None,
            from: None,
            seed: None,
            device: command.device,
            precision: command.precision,
            budget: command.budget,
            place: place(),
        },
        say,
    )?;
    let Some(run) = RunDirectory::newest(experiment)? else {
        return Ok(());
    };
    eval::run(
        &Eval {
            model: run.root().to_owned(),
            scenes: None,
            split: mist_data::Split::Test,
            count: command.count,
            last: false,
            seeds: None,
            device: command.device,
            precision: command.precision,
            json: false,
            sheet: Some(command.figures.join(format!("{experiment}.png"))),
            record: Some(command.results.clone()),
            place: place(),
        },
        say,
    )
}

fn write_figures(command: &Reproduce, results: &[ResultFile], say: Say) -> Result<()> {
    create(&command.figures)?;
    for result in results {
        if !result.experiment.starts_with("ablate-") {
            let name = format!("convergence-{}.seed{}.svg", result.experiment, result.seed);
            let path = command.figures.join(name);
            whole_file::write(&path, figures::convergence(&result.curve).as_bytes())?;
            say.line(format_args!("wrote {}", path.display()));
        }
    }
    if let Some(svg) = figures::growing_counts(results, &dictionary::read(&command.results)?) {
        let path = command.figures.join("gabor-counts.svg");
        whole_file::write(&path, svg.as_bytes())?;
        say.line(format_args!("wrote {}", path.display()));
    }
    Ok(())
}

fn create(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))
}
