//! `mist detect`

use mist_lab::Result;
use mist_lab::detections::{DetectOptions, detect_files, to_text};
use mist_lab::models::{self, Choice};

use crate::cli::Detect;
use crate::console::Console;
use crate::stdout;

/// Prints what is found in each image.
pub fn run(command: &Detect, console: &mut Console) -> Result<()> {
    command.precision.select()?;
    let device = command.device.device()?;
    let loaded = models::load(&command.model, Choice::Best, &device)?;
    let model = match command.instances {
        Some(instances) => loaded.model.with_instances(instances.into()),
        None => loaded.model,
    };
    let options = DetectOptions {
        overlay: command.overlay.clone(),
        redrawn: command.redrawn.clone(),
    };
    let images = detect_files(&model, &command.images, &options, &device)?;
    let total: usize = images.iter().map(|image| image.detections.len()).sum();
    console.line(format_args!("{total} objects in {} images", images.len()));
    let names = &loaded.card.class_names;
    stdout::write(&to_text(&images, names, command.format.into()))
}
