//! `mist demo`: from nothing to detections in minutes.

use std::sync::Arc;

use mist::device::Compute;
use mist::ranks::Alone;
use mist_data::{PackagedImages, Split};
use mist_lab::Result;
use mist_lab::detections::{self, DetectRequest, detect};
use mist_lab::evaluation::{EvaluateOptions, evaluate};
use mist_lab::models::{self, Choice};
use mist_lab::recipe::{FolderRequest, Instances, Recipe};
use mist_lab::training::{TrainOptions, create_run, train};

use super::data::fetch;
use crate::cli::{Demo, DemoPicture};
use crate::console::{Console, percent};
use crate::signals::Signals;
use crate::stdout;

/// One picture is learned sooner than a folder.
const COIN_SETTINGS: [&str; 2] = ["steps=300", "every.validation=300"];

/// Trains and prints where a picture of the detections is.
pub fn run(command: &Demo, console: &mut Console) -> Result<()> {
    match command.picture {
        None => glyphs(command, console),
        Some(DemoPicture::Coins) => coins(command, console),
    }
}

/// Trains on one photograph, and finds what it shows.
fn coins(command: &Demo, console: &mut Console) -> Result<()> {
    let images = PackagedImages::Coins;
    let folder = fetch::packaged_images(images, None, console)?;
    let request = FolderRequest {
        images: folder.clone(),
        instances: Some(Instances::AtMost(images.instances())),
        counts: None,
        object_px: None,
    };
    let settings = COIN_SETTINGS.iter().map(ToString::to_string);
    let settings: Vec<String> = settings.chain(command.settings.clone()).collect();
    let recipe = request.recipe(&settings, console)?;
    let signals = Signals::listen()?;
    let device = Compute::Cpu.device()?;
    let options = TrainOptions {
        device: device.clone(),
        budget: None,
        data: None,
        stop: &|| signals.seen(),
        communicator: Arc::new(Alone),
    };
    let run = create_run(&recipe, command.out.as_deref(), &options)?;
    console.line(format_args!(
        "learning what the {} coins in {} look like, from the picture alone, in {}",
        images.instances(),
        folder.display(),
        run.root().display()
    ));
    train(&run, &options, console)?;
    let overlay = run.root().join("overlay");
    let found = DetectRequest {
        out: Some(run.root().join("detections.json")),
        overlay: Some(overlay.clone()),
        instances: Some(detections::Instances::Exactly(images.instances())),
        ..DetectRequest::new(vec![folder])
    };
    let loaded = models::load(run.root(), Choice::Best, &device)?;
    let sink = Box::new(std::io::sink());
    let outcome = detect(&loaded, &found, sink, &device, console, options.stop)?;
    console.line(format_args!("{} coins found", outcome.objects));
    stdout::write(&format!("{}\n", overlay.join("coins.png").display()))
}

/// Trains on glyph scenes, and evaluates on others.
fn glyphs(command: &Demo, console: &mut Console) -> Result<()> {
    let recipe = Recipe::load("glyphs-demo", &command.settings)?;
    let signals = Signals::listen()?;
    let options = TrainOptions {
        device: Compute::Cpu.device()?,
        budget: None,
        data: None,
        stop: &|| signals.seen(),
        communicator: Arc::new(Alone),
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
