//! `mist eval`

use mist::metrics::Evaluation;
use mist_lab::Result;
use mist_lab::evaluation::{Annotated, EvaluateOptions, evaluate};
use mist_lab::models::Choice;

use crate::cli::Eval;
use crate::console::Console;
use crate::stdout;

/// Evaluates a model and prints its metrics with 95% intervals.
pub fn run(command: &Eval, console: &mut Console) -> Result<()> {
    command.precision.select()?;
    let options = EvaluateOptions {
        model: command.model.clone(),
        choice: match (command.step, command.last) {
            (Some(step), _) => Choice::Step(step),
            (None, true) => Choice::Last,
            (None, false) => Choice::Best,
        },
        dataset: command.dataset.clone(),
        split: command.split,
        count: command.count,
        annotated: command.boxes.as_ref().map(|boxes| Annotated {
            boxes: boxes.clone(),
            images: command.images.clone(),
            instances: command.instances,
        }),
        proposals: command.proposals.map(Into::into),
        mirror: command.mirror,
        device: command.device.device()?,
        data: command.place.data.clone(),
        sheet: command.sheet.clone(),
        beside: command.beside.clone(),
        mistakes: command.mistakes.clone(),
        record: command.record.clone(),
    };
    let evaluated = evaluate(&options, console)?;
    if let Some(path) = &evaluated.recorded {
        console.line(format_args!("wrote {}", path.display()));
    }
    let evaluation = &evaluated.evaluation;
    stdout::write(&if command.json {
        format!("{}\n", serde_json::to_string_pretty(evaluation)?)
    } else {
        lines(evaluation)
    })
}

fn lines(evaluation: &Evaluation) -> String {
    evaluation
        .metrics
        .iter()
        .map(|(name, value)| {
            let interval = evaluation.intervals.get(name);
            let interval = interval.map_or(String::new(), |interval| {
                format!("  [{:.4}, {:.4}]", interval.low, interval.high)
            });
            format!("{name:20} {value:.4}{interval}\n")
        })
        .collect()
}
