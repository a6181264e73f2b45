//! A model judged on scenes that it has not seen.

use anyhow::Result;
use burn::tensor::Device;
use mist::metrics::{Bootstrap, Evaluation, EvaluationConfig, Evidence, ImageResult, MatchRule};
use mist::model::Model;
use mist_data::{InstanceCount, SceneSet};

use crate::batches::Batch;

/// Scenes taken at once.
const AT_ONCE: usize = 32;

/// Runs the model on the first `count` scenes of a set; each scene's K is the number of its instances, as in the paper's
/// tables.
pub fn detect_scenes(
    model: &Model,
    set: &SceneSet,
    count: u64,
    device: &Device,
) -> Result<Vec<ImageResult>> {
    let channels = model.config().image_channels();
    let most = match set.instance_count() {
        InstanceCount::Uniform { most, .. } => most,
        InstanceCount::Poisson { .. } => model.config().extractor.instances,
    };
    let model = model.clone().with_instances(most);
    let mut results = Vec::new();
    let mut first = 0;
    while first < count {
        let taken = (count - first).min(AT_ONCE as u64);
        let batch = Batch::draw(set, first, taken as usize, channels, device);
        let found = model.detect(batch.images.clone())?;
        let pairs = batch.truths().into_iter().zip(found);
        results.extend(pairs.map(|(truths, mut detections)| {
            detections.truncate(truths.len());
            ImageResult { truths, detections }
        }));
        first += taken;
    }
    Ok(results)
}

/// All metrics of some results; intervals where a bootstrap is given.
pub fn judge(
    results: &[ImageResult],
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
        images: results,
        ..Evidence::default()
    };
    Evaluation::new(evidence, &config)
}
