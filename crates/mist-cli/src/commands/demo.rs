//! `mist demo`: from nothing to detections in minutes.

use anyhow::Result;
use mist::device::Compute;
use mist_data::Split;

use super::Say;
use crate::cli::{DataPlace, Demo};
use crate::evaluation::Proposals;
use crate::models::{self, Choice};
use crate::recipe::Recipe;
use crate::run::directory::RunDirectory;
use crate::training::{Conditions, train};
use crate::{batches, detections, evaluation, stdout};

/// Trains on glyph scenes, judges on others, and prints where the sheet of detections is.
pub fn run(command: &Demo, say: Say) -> Result<()> {
    let recipe = Recipe::load("glyphs-demo", &command.settings)?;
    let run = RunDirectory::create(&recipe, command.out.as_deref())?;
    say.line(format_args!(
        "learning to find and read {} objects per image from class counts alone, in {}",
        recipe.model.extractor.instances,
        run.root().display()
    ));
    let device = Compute::Cpu.device()?;
    let place = DataPlace { data: None };
    train(
        &run,
        &Conditions {
            device: device.clone(),
            budget: None,
            place: &place,
            say,
        },
    )?;
    let model = models::load(run.root(), Choice::Best, &device)?.model;
    let set = batches::open(recipe.kind()?, 0, Split::Test, &place)?;
    let results =
        evaluation::detect_scenes(&model, &set, command.count, Proposals::Heatmap, &device)?;
    let instances = recipe.model.extractor.instances;
    let found = evaluation::judge(&results, set.classes(), instances, None).metrics;
    let percent = |value: Option<f64>| value.unwrap_or_default() * 100.0;
    say.line(format_args!(
        "on {} held-out scenes: {:.1} % found (IoU 50 %), {:.1} % found and read",
        command.count,
        percent(found.iou50),
        percent(found.both)
    ));
    let sheet = run.root().join("detections.png");
    detections::write_sheet(&sheet, &set, &results.images, &recipe.model.task)?;
    stdout::write(&format!("{}\n", sheet.display()))
}
