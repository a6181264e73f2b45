//! The paper's qualitative comparison: the same test scenes, redrawn by every method that was trained here.

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use mist_data::{Catalog, Image, Split};

use crate::batches;
use crate::draw::{Panel, sample_sheet};
use crate::error::Result;
use crate::models::{self, Choice};
use crate::observer::Observer;
use crate::run::directory::RunDirectory;

/// Columns beside the input, and the end of the names of their experiments.
const METHODS: &[(&str, &str)] = &[
    ("MIST", "reconstruct"),
    ("grid", "grid"),
    ("channel-wise", "channelwise"),
    ("Eslami et al.", "esl16"),
    ("Zhang et al.", "zha18"),
];
/// Variants of the data that it is drawn for.
pub const DATASETS: [&str; 2] = ["easy", "hard"];
const SCENES: usize = 3;
const ZOOM: usize = 2;

/// Test scenes of a data set and what each method makes of them; methods without a run or a model here are left out, and
/// without any there is no picture.
///
/// # Errors
/// When a model cannot be read or run on these scenes.
pub fn sheet(
    dataset: &str,
    device: &Device,
    data: Option<&Path>,
    observer: &mut dyn Observer,
) -> Result<Option<Image>> {
    let mut columns: Vec<(&str, Vec<Image>)> = Vec::new();
    for (title, method) in METHODS {
        let experiment = format!("mnist-{dataset}-{method}");
        let Some(path) = trained(&experiment)? else {
            observer.message(&format!(
                "the comparison on {dataset} scenes has no {title}: no run or model of {experiment}"
            ));
            continue;
        };
        let finder = models::load_with(&path, Choice::Best, data, device)?.finder;
        let scenes = Catalog::new(data).open(dataset, 0, Split::Test)?;
        let (items, batch) = batches::load(scenes.as_ref(), 0, SCENES, finder.channels(), device)?;
        if columns.is_empty() {
            let images = items.into_iter().map(|item| item.image);
            columns.push(("input image", images.collect()));
        }
        let found = finder.find(batch.images.clone(), &[finder.instances(); SCENES])?;
        if let Some(redrawn) = finder.redraw(batch.images, &found)? {
            columns.push((title, batches::to_images(redrawn.clamp(0.0, 1.0))?));
        }
    }
    if columns.is_empty() {
        return Ok(None);
    }
    let row = |scene: usize| {
        let panels = columns.iter();
        let panels = panels.filter_map(|(title, images)| Some((*title, images.get(scene)?)));
        panels
            .map(|(title, image)| (title, Panel::Image(image)))
            .collect()
    };
    let rows: Vec<Vec<(&str, Panel)>> = (0..SCENES).map(row).collect();
    Ok(Some(sample_sheet(&rows, ZOOM)?))
}

/// The newest run of an experiment that has weights, that of seed 1 which scripts train, or the model that was exported from one.
fn trained(experiment: &str) -> Result<Option<PathBuf>> {
    let newest = RunDirectory::newest(experiment)?;
    let of_scripts = Path::new("runs").join(experiment).join("seed1");
    let runs = newest.map(|run| run.root().to_owned()).into_iter();
    let mut runs = runs.chain([of_scripts]);
    let weights = Path::new("weights").join("last.safetensors");
    let model = Path::new("models").join(experiment);
    Ok(runs
        .find(|run| run.join(&weights).is_file())
        .or_else(|| model.is_dir().then_some(model)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Silent;
    use crate::recipe;

    #[test]
    fn every_column_that_can_be_trained_is_named_after_its_recipe() {
        let known: Vec<&str> = recipe::names().collect();
        for (title, method) in &METHODS[..3] {
            for dataset in DATASETS {
                let experiment = format!("mnist-{dataset}-{method}");
                assert!(
                    known.contains(&experiment.as_str()),
                    "{title}: {experiment}"
                );
            }
        }
    }

    #[test]
    fn without_trained_models_there_is_no_picture() {
        let sheet = sheet("unheard", &Device::flex(), None, &mut Silent).unwrap();
        assert_eq!(sheet, None);
    }
}
