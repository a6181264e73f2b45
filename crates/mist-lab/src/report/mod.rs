//! One self-contained HTML page about a run: curves, pictures, detections, patches, recipe.

mod page;

use std::fs;
use std::path::{Path, PathBuf};

use mist::device::Compute;
use mist_data::{Catalog, Split};

use page::Page;

use crate::error::{AtPath, Result};
use crate::evaluation::predict;
use crate::models::{self, Choice};
use crate::observer::Observer;
use crate::recipe::Recipe;
use crate::run::directory::RunDirectory;
use crate::run::metrics_log::{self, Line};
use crate::run::{regular_file, whole_file};
use crate::{figures, sheets};

/// Held-out images that are shown.
const SHOWN: u64 = 12;

/// Which run, and where the page goes.
#[derive(Clone, Debug, Default)]
pub struct ReportOptions {
    /// A run directory.
    pub run: PathBuf,
    /// The page, instead of `report.html` in the run.
    pub out: Option<PathBuf>,
    /// Where data is, instead of the usual places.
    pub data: Option<PathBuf>,
}

/// Writes the page and returns its path.
///
/// # Errors
/// When the run cannot be read or the page cannot be written.
pub fn write(options: &ReportOptions, observer: &mut dyn Observer) -> Result<PathBuf> {
    let run = RunDirectory::open(&options.run)?;
    let recipe = run.recipe()?;
    let lines = metrics_log::read(&run.metrics())?.into_lines(&run.metrics(), observer);
    let mut page = Page::new(&recipe.experiment);
    summary(&mut page, &recipe, &lines);
    page.heading("Convergence");
    page.svg(&figures::convergence(&lines));
    found(&mut page, &run, options.data.as_deref())?;
    pictures(&mut page, &run, observer)?;
    page.heading("Recipe");
    page.listing(&recipe.to_toml()?);
    let path = match &options.out {
        Some(path) => path.clone(),
        None => run.root().join("report.html"),
    };
    whole_file::write(&path, page.finish().as_bytes())?;
    Ok(path)
}

fn summary(page: &mut Page, recipe: &Recipe, lines: &[Line]) {
    let last = lines.last();
    let step = last.map_or(0, |line| line.step);
    let minutes = last.map_or(0.0, |line| line.secs / 60.0);
    page.paragraph(&format!(
        "{} on the data set {}, seed {}: {step} of {} steps of {} images in {minutes:.1} minutes.",
        recipe.method.name(),
        recipe.dataset,
        recipe.seed,
        recipe.steps,
        recipe.batch
    ));
    let last = lines.iter().rev().find_map(|line| line.validation.as_ref());
    if let Some(metrics) = last {
        page.heading("Last evaluation on held-out images");
        page.table(
            metrics
                .iter()
                .map(|(name, value)| (name, format!("{value:.4}"))),
        );
    }
}

/// Detections on held-out images, and each patch with what the task network makes of it.
fn found(page: &mut Page, run: &RunDirectory, data: Option<&Path>) -> Result<()> {
    let device = Compute::Cpu.device()?;
    let loaded = models::load(run.root(), Choice::Best, &device)?;
    let finder = loaded.finder.as_ref();
    let dataset = loaded.dataset(Split::Valid, &Catalog::new(data))?;
    let predictions = predict(finder, dataset.as_ref(), SHOWN, &device)?;
    let names = match finder.classes() {
        Some(_) => loaded.card.class_names.as_slice(),
        None => &[],
    };
    let sheet = sheets::detections(dataset.as_ref(), &predictions.images, names)?;
    page.heading("Found in held-out images");
    page.png(&mist_data::encode_png(&sheet)?, "what is found");
    let patches = sheets::patches(finder, dataset.as_ref(), &device)?;
    page.heading("Patches");
    let caption = match finder.classes() {
        Some(_) => "image, boxes, and the patches below",
        None => "image, boxes and the image redrawn; below, each patch and what becomes of it",
    };
    page.png(&mist_data::encode_png(&patches)?, caption);
    Ok(())
}

/// The pictures that were drawn while training: the first and the last.
fn pictures(page: &mut Page, run: &RunDirectory, observer: &mut dyn Observer) -> Result<()> {
    let directory = run.samples();
    let entries = fs::read_dir(&directory).at("read", &directory)?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()
        .at("read", &directory)?;
    paths.sort();
    let mut readable = |path: &PathBuf| match regular_file::read(path) {
        Ok(png) => Some((path.clone(), png)),
        Err(error) => {
            observer.warning(&format!("a picture is left out: {error}"));
            None
        }
    };
    let first = paths.iter().find_map(&mut readable);
    let others = paths.iter().rev();
    let last = others
        .take_while(|path| first.as_ref().is_some_and(|(first, _)| *path > first))
        .find_map(&mut readable);
    page.heading("While training");
    for (path, png) in first.iter().chain(&last) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        page.png(png, &name);
    }
    Ok(())
}
