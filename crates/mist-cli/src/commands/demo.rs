//! `mist demo`: from nothing to detections in minutes.

use mist::device::Compute;
use mist_data::Split;
use mist_lab::Result;
use mist_lab::evaluation::{EvaluateOptions, evaluate};
use mist_lab::models::Choice;
use mist_lab::recipe::Recipe;
use mist_lab::training::{TrainOptions, create_run, train};

use crate::cli::Demo;
use crate::console::{Console, percent};
use crate::signals::Signals;
use crate::stdout;

/// Trains on glyph scenes, evaluates on others, and prints where the sheet of detections is.
pub fn run(command: &Demo, console: &mut Console) -> Result<()> {
    let recipe = Recipe::load("glyphs-demo", &command.settings)?;
    let signals = Signals::listen()?;
    let options = TrainOptions {
        device: Compute::Cpu.device()?,
        budget: None,
        data: None,
        stop: &|| signals.seen(),
    };
    let run = create_run(&recipe, command.out.as_deref(), &options)?;
    console.line(format_args!(
        "learning to find and read {} objects per image from class counts, in {}",
        recipe.model.extractor.instances,
        run.root().display()
    ));
    console.line(format_args!(
        "it starts from hand-made proposals, to be quick; `mist train mnist-hard-classify` does without"
    ));
    train(&run, &options, console)?;
    let sheet = run.root().join("detections.png");
    let evaluated = evaluate(
        &EvaluateOptions {
            model: run.root().to_owned(),
            choice: Choice::Best,
            dataset: None,
            split: Split::Test,
            count: command.count,
            annotated: None,
            proposals: None,
            device: options.device.clone(),
            data: None,
            sheet: Some(sheet.clone()),
            record: None,
        },
        console,
    )?;
    let metrics = evaluated.evaluation.metrics;
    console.line(format_args!(
        "on {} held-out scenes: {} found (IoU 50 %), {} found and read",
        command.count,
        percent(metrics.get("iou50")),
        percent(metrics.get("both"))
    ));
    stdout::write(&format!("{}\n", sheet.display()))
}
