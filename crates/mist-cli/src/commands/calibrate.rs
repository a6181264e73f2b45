//! `mist calibrate`

use mist::device::Compute;
use mist_data::{Catalog, Split};
use mist_lab::Result;
use mist_lab::models::{self, Choice};
use mist_lab::run::whole_file;

use crate::cli::Calibrate;
use crate::console::Console;
use crate::stdout;

/// The seed of validation scenes, as in trainings.
const SEED: u64 = 0;

/// Calibrates a model and prints from which score on a maximum is an object.
pub fn run(command: &Calibrate, console: &mut Console) -> Result<()> {
    command.precision.select()?;
    let device = Compute::Cpu.device()?;
    let loaded = models::load(&command.model, Choice::Best, &device)?;
    let name = command.dataset.as_ref().unwrap_or(&loaded.card.dataset);
    let catalog = Catalog::new(command.place.data.as_deref());
    let dataset = catalog.open(name, SEED, Split::Valid)?;
    let (calibration, plot) = models::calibrate(
        &command.model,
        &loaded,
        dataset.as_ref(),
        command.count,
        &device,
    )?;
    if let Some(path) = &command.plot {
        whole_file::write(path, plot.as_bytes())?;
        console.line(format_args!("wrote {}", path.display()));
    }
    stdout::write(&format!(
        "objects from score {:.4} on, fitted to {} images of {}\n",
        calibration.least_score, calibration.images, calibration.dataset
    ))
}
