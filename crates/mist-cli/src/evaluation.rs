//! A model judged on scenes that it has not seen.

use anyhow::Result;
use burn::tensor::{Device, Tensor};
use mist::extract::{ScoredKeypoint, cover};
use mist::metrics::{
    Bootstrap, Evaluation, EvaluationConfig, Evidence, ImageResult, MatchRule, SquaredError,
};
use mist::model::{Model, TaskNetwork};
use mist_data::{InstanceCount, SceneSet};

use crate::batches::Batch;

/// Scenes taken at once.
const AT_ONCE: usize = 32;

/// Where keypoints come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proposals {
    /// E_K(H(I)).
    Heatmap,
    /// The image alone, as at the start of lifted training.
    Seeds,
}

/// Seeds in the order in which they were found, the first with the highest score.
fn seeds(model: &Model, images: Tensor<4>) -> Result<Vec<Vec<ScoredKeypoint>>> {
    let config = model.config();
    let instances = config.extractor.instances;
    let found = cover(images, instances, config.geometry.base_box_px)?;
    let scored = |(place, keypoint)| ScoredKeypoint {
        keypoint,
        score: (instances - place) as f32 / instances as f32,
    };
    let images = found.into_iter();
    Ok(images
        .map(|image| image.into_iter().enumerate().map(scored).collect())
        .collect())
}

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
pub fn detect_scenes(
    model: &Model,
    set: &SceneSet,
    count: u64,
    proposals: Proposals,
    device: &Device,
) -> Result<Seen> {
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
        let found = match proposals {
            Proposals::Heatmap => model.locate(batch.images.clone())?,
            Proposals::Seeds => seeds(&model, batch.images.clone())?,
        };
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
