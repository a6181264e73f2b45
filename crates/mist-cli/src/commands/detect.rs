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
    let names = &loaded.card.class_names;
    let options = DetectOptions {
        instances: command.instances.map(usize::from),
        overlay: command.overlay.clone(),
        redrawn: command.redrawn.clone(),
    };
    let finder = loaded.finder.as_ref();
    let images = detect_files(finder, names, &command.images, &options, &device)?;
    let total: usize = images.iter().map(|image| image.detections.len()).sum();
    console.line(format_args!("{total} objects in {} images", images.len()));
    stdout::write(&to_text(&images, names, command.format.into())?)
}
