//! A model judged on scenes that it has not seen.

use anyhow::Result;
use burn::tensor::{Device, Tensor};
use mist::metrics::{
    Bootstrap, Evaluation, EvaluationConfig, Evidence, ImageResult, MatchRule, SquaredError,
};
use mist::model::{Model, TaskNetwork};
use mist_data::{InstanceCount, SceneSet};

use crate::batches::Batch;

/// Scenes taken at once.
const AT_ONCE: usize = 32;

/// What a model made of some scenes.
#[derive(Default)]
pub struct Seen {
    /// True and found boxes of each.
    pub images: Vec<ImageResult>,
    /// Error of each redrawn image, for auto-encoders.
    pub reconstructions: Vec<SquaredError>,
}

/// Runs the model on the first `count` scenes of a set; each scene's K is the number of its instances, as in the paper's
/// tables.
pub fn detect_scenes(model: &Model, set: &SceneSet, count: u64, device: &Device) -> Result<Seen> {
    let channels = model.config().image_channels();
    let most = match set.instance_count() {
        InstanceCount::Uniform { most, .. } => most,
        InstanceCount::Poisson { .. } => model.config().extractor.instances,
    };
    let model = model.clone().with_instances(most);
    let redraws = matches!(model.config().task, TaskNetwork::Autoencoder { .. });
    let mut seen = Seen::default();
    let mut first = 0;
    while first < count {
        let taken = (count - first).min(AT_ONCE as u64);
        let batch = Batch::draw(set, first, taken as usize, channels, device);
        let found = model.locate(batch.images.clone())?;
        if redraws {
            let redrawn = model.redraw(batch.images.clone(), &found)?;
            seen.reconstructions
                .extend(errors(&batch.images, &redrawn)?);
        }
        let detections = model.label(batch.images.clone(), &found)?;
        let pairs = batch.truths().into_iter().zip(detections);
        seen.images.extend(pairs.map(|(truths, mut detections)| {
            detections.truncate(truths.len());
            ImageResult { truths, detections }
        }));
        first += taken;
    }
    Ok(seen)
}

/// The squared error of each image.
fn errors(images: &Tensor<4>, redrawn: &Tensor<4>) -> Result<Vec<SquaredError>> {
    let [batch, ..] = images.dims();
    let read = |images: &Tensor<4>| images.clone().try_into_vec_as::<f32>();
    let (images, redrawn) = (read(images)?, read(redrawn)?);
    let length = images.len() / batch.max(1);
    let pairs = images
        .chunks_exact(length)
        .zip(redrawn.chunks_exact(length));
    pairs
        .map(|(expected, actual)| Ok(SquaredError::between(expected, actual)?))
        .collect()
}

/// All metrics of some results; intervals where a bootstrap is given.
pub fn judge(
    seen: &Seen,
    classes: usize,
    instances: usize,
    bootstrap: Option<Bootstrap>,
) -> Evaluation {
    let config = EvaluationConfig {
        class_count: classes,
        rule: MatchRule::Iou,
        official_k: Some(instances),
        bootstrap,
    };
    let evidence = Evidence {
        images: &seen.images,
        reconstructions: &seen.reconstructions,
        ..Evidence::default()
    };
    Evaluation::new(evidence, &config)
}
