//! `mist eval`

use std::time::Instant;

use anyhow::Result;
use mist::metrics::{Bootstrap, Evaluation};
use mist::model::TaskNetwork;

use super::Say;
use crate::cli::Eval;
use crate::evaluation::Proposals;
use crate::exit::Usage;
use crate::models::{self, Choice, Origin};
use crate::patches::patch_sheet;
use crate::results::ResultFile;
use crate::run::directory::RunDirectory;
use crate::run::metrics_log;
use crate::{batches, detections, evaluation, machine, stdout};

/// Judges a model and prints its metrics with 95% intervals.
pub fn run(command: &Eval, say: Say) -> Result<()> {
    command.precision.select()?;
    let device = command.device.device()?;
    let choice = if command.last {
        Choice::Last
    } else {
        Choice::Best
    };
    let loaded = models::load(&command.model, choice, &device)?;
    let kind = match command.scenes {
        Some(kind) => kind,
        None => loaded
            .card
            .scenes
            .parse()
            .map_err(|error| Usage(format!("{error}")))?,
    };
    let set = batches::open(kind, 0, command.split, &command.place)?;
    say.line(format_args!(
        "{} on {} {} scenes of kind {kind}",
        loaded.weights.display(),
        command.count,
        command.split
    ));
    let proposals = match command.seeds {
        Some(kind) => Proposals::Seeds(kind.into()),
        None => Proposals::Heatmap,
    };
    let begun = Instant::now();
    let results =
        evaluation::detect_scenes(&loaded.model, &set, command.count, proposals, &device)?;
    let secs_per_image = begun.elapsed().as_secs_f64() / command.count.max(1) as f64;
    let instances = loaded.card.model.extractor.instances;
    let judged = evaluation::judge(
        &results,
        set.classes(),
        instances,
        Some(Bootstrap::default()),
    );
    if let Some(path) = &command.sheet {
        let task = &loaded.model.config().task;
        match task {
            TaskNetwork::Classifier { .. } => {
                detections::write_sheet(path, &set, &results.images, task)?;
            }
            TaskNetwork::Autoencoder { .. } => {
                mist_data::write_png(path, &patch_sheet(&loaded.model, &set, &device)?)?;
            }
        }
    }
    if let Some(directory) = &command.record {
        let Origin::Run(run) = &loaded.origin else {
            return Err(
                Usage("--record needs a run: a model directory has no curve".into()).into(),
            );
        };
        let mut result = record(command, run, &judged, kind.name())?;
        result.secs_per_image = Some(secs_per_image);
        let path = result.save(directory)?;
        say.line(format_args!("wrote {}", path.display()));
    }
    stdout::write(&if command.json {
        format!("{}\n", serde_json::to_string_pretty(&judged)?)
    } else {
        lines(&judged)
    })
}

fn lines(judged: &Evaluation) -> String {
    let intervals: Vec<_> = judged.intervals.entries().collect();
    judged
        .metrics
        .entries()
        .map(|(name, value)| {
            let interval = intervals.iter().find(|(known, _)| *known == name);
            let interval = interval.map_or(String::new(), |(_, interval)| {
                format!("  [{:.4}, {:.4}]", interval.low, interval.high)
            });
            format!("{name:20} {value:.4}{interval}\n")
        })
        .collect()
}

fn record(
    command: &Eval,
    run: &RunDirectory,
    judged: &Evaluation,
    dataset: &str,
) -> Result<ResultFile> {
    let recipe = run.recipe()?;
    let environment = run.environment()?;
    let curve = metrics_log::read(&run.metrics())?;
    let last = curve.last();
    Ok(ResultFile {
        experiment: recipe.experiment.clone(),
        method: recipe.method.name().to_owned(),
        dataset: format!("{dataset} {}", command.split),
        command: format!(
            "{} && mist eval RUN --count {} --record",
            environment.shell_command(),
            command.count,
        ),
        commit: environment.commit,
        seed: recipe.seed,
        machine: environment.machine,
        wall_secs: last.map_or(0.0, |line| line.secs),
        images_seen: last.map_or(0, |line| line.step) * recipe.batch as u64,
        test_images: command.count,
        secs_per_image: None,
        peak_memory_mb: machine::peak_memory_mb(),
        metrics: judged.metrics,
        intervals: judged.intervals,
        curve,
        config: serde_json::to_value(&recipe)?,
    })
}
