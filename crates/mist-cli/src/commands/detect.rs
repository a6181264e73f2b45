//! `mist detect`

use std::path::{Path, PathBuf};

use mist_lab::detections::{DetectRequest, Outcome, ShardChoice, detect, read_list};
use mist_lab::models::{self, Choice};
use mist_lab::{Error, Result};

use crate::cli::Detect;
use crate::console::Console;
use crate::signals::Signals;
use crate::stdout;

/// Prints what is found in each image.
pub fn run(command: &Detect, console: &mut Console) -> Result<()> {
    command.precision.select()?;
    let device = command.device.device()?;
    let shard = ShardChoice::resolve(command.shard, &|name| std::env::var(name).ok())?;
    if let Some((shard, source)) = shard {
        console.line(format_args!("shard {shard}, by {source}"));
    }
    let request = DetectRequest {
        images: paths(&command.images)?,
        instances: command.instances,
        tile_px: command.tile_px,
        format: command.format,
        out: command.out.clone(),
        counts: command.counts.clone(),
        overlay: command.overlay.clone(),
        redrawn: command.redrawn.clone(),
        crops: command.crops.clone(),
        heatmap: command.heatmap.clone(),
        shard: shard.map(|(shard, _)| shard),
    };
    let choice = command.step.map_or(Choice::Best, Choice::Step);
    let loaded = models::load(&command.model, choice, &device)?;
    let signals = Signals::listen()?;
    let stdout = Box::new(std::io::stdout());
    let stop = || signals.seen();
    finish(
        detect(&loaded, &request, stdout, &device, console, &stop),
        console,
    )
}

/// Says how it ended; images that failed make a failure of the whole.
pub fn finish(outcome: Result<Outcome>, console: &Console) -> Result<()> {
    let outcome = match outcome {
        Err(error) if stdout::is_closed(&error) => return Ok(()),
        outcome => outcome?,
    };
    let Outcome {
        images,
        objects,
        failed,
    } = outcome;
    console.line(format_args!("{objects} objects in {images} images"));
    match failed {
        0 => Ok(()),
        _ => Err(Error::Incomplete {
            failed,
            all: images + failed,
        }),
    }
}

/// The paths given, with those of standard input in the place of `-`.
fn paths(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for path in given {
        if path == Path::new("-") {
            paths.extend(read_list(std::io::stdin().lock())?);
        } else {
            paths.push(path.clone());
        }
    }
    Ok(paths)
}
