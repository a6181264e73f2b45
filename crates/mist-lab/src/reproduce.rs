//! The paper's tables and figures, ours beside its: experiments that are missing are trained, evaluated and recorded.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use burn::tensor::Device;
use mist::proposals::Proposals;
use mist::ranks::Alone;
use mist_data::Split;

use crate::error::{AtPath, Error, Result};
use crate::evaluation::{EvaluateOptions, PROPOSALS_ALONE, evaluate};
use crate::models::Choice;
use crate::observer::Observer;
use crate::recipe::Recipe;
use crate::results::{self, ResultFile};
use crate::run::directory::RunDirectory;
use crate::run::whole_file;
use crate::tables::{TABLES, Table};
use crate::training::{End, TrainOptions, create_run, train};
use crate::{dictionary, figures};

/// Experiments of the paper's figure of convergence.
const CONVERGENCE: &[&str] = &["mnist-hard-classify", "mnist-hard-official"];

/// What to reproduce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Reconstruction.
    Table1,
    /// Digits of varying size.
    Scales,
    /// Gabor noise with 16, 64 and 256 impulses.
    Gabor,
    /// Weakly supervised MNIST-hard.
    Table2,
    /// Three digits.
    Table3,
    /// PASCAL and COCO photographs.
    Table4,
    /// Sensitivity to K.
    Table5,
    /// Harder scenes of our own.
    Beyond,
    /// What is learnt from counts, and what is not.
    Controls,
    /// One setting changed at a time.
    Ablations,
    /// Every table but the ablations.
    Tables,
    /// Convergence curves.
    Figures,
    /// Everything.
    All,
}

impl Work {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Table1,
        Self::Scales,
        Self::Gabor,
        Self::Table2,
        Self::Table3,
        Self::Table4,
        Self::Table5,
        Self::Beyond,
        Self::Controls,
        Self::Ablations,
        Self::Tables,
        Self::Figures,
        Self::All,
    ];

    /// The name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Table1 => "table1",
            Self::Scales => "scales",
            Self::Gabor => "gabor",
            Self::Table2 => "table2",
            Self::Table3 => "table3",
            Self::Table4 => "table4",
            Self::Table5 => "table5",
            Self::Beyond => "beyond",
            Self::Controls => "controls",
            Self::Ablations => "ablations",
            Self::Tables => "tables",
            Self::Figures => "figures",
            Self::All => "all",
        }
    }

    /// What it is, in a few words.
    pub fn description(self) -> &'static str {
        match self {
            Self::Table1 => "Reconstruction",
            Self::Scales => "Digits of varying size",
            Self::Gabor => "Gabor noise with 16, 64 and 256 impulses",
            Self::Table2 => "Weakly supervised MNIST-hard",
            Self::Table3 => "Three digits",
            Self::Table4 => "Photographs",
            Self::Table5 => "Sensitivity to K",
            Self::Beyond => "Harder scenes of our own",
            Self::Controls => "What is learnt from counts, and what is not",
            Self::Ablations => "One setting changed at a time",
            Self::Tables => "Every table but the ablations",
            Self::Figures => "Convergence curves",
            Self::All => "Everything",
        }
    }

    fn has_figures(self) -> bool {
        matches!(self, Self::Figures | Self::All)
    }

    fn tables(self) -> impl Iterator<Item = &'static Table> {
        TABLES.iter().filter(move |table| match self {
            Self::Tables | Self::All => table.is_reproduced(),
            work => work.name() == table.name,
        })
    }

    /// The experiments behind it.
    pub fn experiments(self) -> Vec<&'static str> {
        let mut experiments: Vec<&str> = self.tables().flat_map(Table::experiments).collect();
        if self.has_figures() {
            experiments.extend(CONVERGENCE);
        }
        experiments.sort_unstable();
        experiments.dedup();
        experiments
    }
}

/// How experiments are run, and where their results go.
pub struct ReproduceOptions<'a> {
    /// Where result files are.
    pub results: PathBuf,
    /// Where figures go.
    pub figures: PathBuf,
    /// Test scenes of an experiment.
    pub count: u64,
    /// Stop each training after this time.
    pub budget: Option<Duration>,
    /// Where to compute.
    pub device: Device,
    /// Where data is, instead of the usual places.
    pub data: Option<PathBuf>,
    /// As [`TrainOptions::stop`].
    pub stop: &'a dyn Fn() -> Option<i32>,
}

/// Trains, evaluates and records the experiments of `work` that have no result yet.
///
/// # Errors
/// As [`train`] and [`evaluate`].
pub fn run_missing(
    work: Work,
    options: &ReproduceOptions,
    observer: &mut dyn Observer,
) -> Result<()> {
    let script = match work {
        Work::Ablations => Some("ablate.sh"),
        Work::Controls => Some("controls.sh"),
        _ => None,
    };
    if let Some(script) = script {
        let reason = format!("`bash scripts/{script}` trains them; then give --recorded");
        return Err(Error::Usage(reason));
    }
    let results = results::read_all(&options.results)?;
    for experiment in work.experiments() {
        if !results.iter().any(|result| result.experiment == experiment) {
            run_experiment(experiment, options, observer)?;
        }
    }
    Ok(())
}

fn run_experiment(
    experiment: &str,
    options: &ReproduceOptions,
    observer: &mut dyn Observer,
) -> Result<()> {
    create(&options.figures)?;
    observer.message(&format!("{experiment}: no result yet, training it"));
    let conditions = TrainOptions {
        device: options.device.clone(),
        budget: options.budget,
        data: options.data.clone(),
        stop: options.stop,
        communicator: Arc::new(Alone),
    };
    let (recipe, proposals) = match experiment.strip_suffix(PROPOSALS_ALONE) {
        Some(recipe) => (recipe, Some(Proposals::Cover)),
        None => (experiment, None),
    };
    let run = match RunDirectory::newest(recipe)? {
        Some(run) => run,
        None => create_run(&Recipe::load(recipe, &[])?, None, &conditions)?,
    };
    observer.message(&format!("training in {}", run.root().display()));
    if train(&run, &conditions, observer)? == End::OutOfTime {
        // A result of half a training would stand for the whole, and the training would never be resumed.
        observer.message("the time is used up; the next call continues");
        return Ok(());
    }
    let evaluated = evaluate(
        &EvaluateOptions {
            model: run.root().to_owned(),
            choice: Choice::Best,
            dataset: None,
            split: Split::Test,
            count: options.count,
            annotated: None,
            proposals,
            device: options.device.clone(),
            data: options.data.clone(),
            sheet: Some(options.figures.join(format!("{experiment}.png"))),
            record: Some(options.results.clone()),
        },
        observer,
    )?;
    if let Some(path) = evaluated.recorded {
        observer.message(&format!("wrote {}", path.display()));
    }
    Ok(())
}

/// The tables of `work` as Markdown, from the result files.
///
/// # Errors
/// When a result file is damaged.
pub fn tables(work: Work, results: &Path) -> Result<String> {
    let ours = results::read_all(results)?;
    let mut text = Vec::new();
    for table in work.tables() {
        text.push(table.to_markdown(&ours));
        if table.name == "gabor" {
            let peers = dictionary::read(results)?;
            text.extend(dictionary::to_markdown(&ours, &peers));
        }
    }
    Ok(text.join("\n"))
}

/// Draws the figures of `work` from the result files; returns what was written.
///
/// # Errors
/// When a result file is damaged or a figure cannot be written.
pub fn write_figures(work: Work, results: &Path, directory: &Path) -> Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    if !work.has_figures() {
        return Ok(written);
    }
    create(directory)?;
    let ours = results::read_all(results)?;
    let mut write = |name: String, svg: String| -> Result<()> {
        let path = directory.join(name);
        whole_file::write(&path, svg.as_bytes())?;
        written.push(path);
        Ok(())
    };
    let short = ["ablate-", "control-"];
    let is_short = |result: &&ResultFile| short.iter().any(|s| result.experiment.starts_with(s));
    for result in ours.iter().filter(|result| !is_short(result)) {
        let name = format!("convergence-{}.seed{}.svg", result.experiment, result.seed);
        write(name, figures::convergence(&result.curve))?;
    }
    if let Some(svg) = figures::growing_counts(&ours, &dictionary::read(results)?) {
        write("gabor-counts.svg".to_owned(), svg)?;
    }
    Ok(written)
}

fn create(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).at("create", directory)
}
