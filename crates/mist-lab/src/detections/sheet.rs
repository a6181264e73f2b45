//! Detections drawn into images.

use std::path::Path;

use mist::geometry::Detection;
use mist::metrics::ImageResult;
use mist::model::TaskNetwork;
use mist_data::{Bounds, Captions, Instance, Scene, SceneSet, contact_sheet, write_png};

use super::bbox;
use crate::error::Result;

/// A detection in the form that contact sheets draw.
pub(crate) fn as_instance(detection: &Detection) -> Instance {
    let [left_px, top_px, width_px, height_px] = bbox(detection);
    Instance {
        bounds: Bounds {
            left_px,
            top_px,
            width_px,
            height_px,
        },
        label: detection.label,
        scale: 1.0,
        weight: 1.0,
    }
}

/// Scenes on a sheet, how many in a row, and how much they are enlarged.
const SHOWN: usize = 12;
const COLUMNS: usize = 4;
const ZOOM: usize = 3;

/// What the boxes of a model's detections say: an auto-encoder knows no classes.
pub(crate) fn captions(task: &TaskNetwork) -> Captions {
    match task {
        TaskNetwork::Classifier { .. } => Captions::Labels,
        TaskNetwork::Autoencoder { .. } => Captions::None,
    }
}

/// Draws what was found in the first scenes of a set.
///
/// # Errors
/// When the file cannot be written.
pub fn write_sheet(
    path: &Path,
    set: &SceneSet,
    results: &[ImageResult],
    task: &TaskNetwork,
) -> Result<()> {
    let shown: Vec<Scene> = results
        .iter()
        .take(SHOWN)
        .enumerate()
        .map(|(index, result)| Scene {
            image: set.scene(index as u64).image,
            instances: result.detections.iter().map(as_instance).collect(),
        })
        .collect();
    write_png(path, &contact_sheet(&shown, COLUMNS, ZOOM, captions(task))?)?;
    Ok(())
}
