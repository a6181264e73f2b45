//! The upper bound on photographs: true centres, and the background where nothing is.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor, TensorData};

use crate::Error;
use crate::geometry::{Keypoint, Truth};
use crate::keypoints;
use crate::measurements::Measurements;
use crate::networks::InputStatistics;
use crate::training::{Batch, Progress, Step, TrainedModel};

/// One step on a batch of photographs. Images with fewer than K objects are filled up with the heatmap's strongest places
/// outside of all true boxes: what the classifier will see there is background.
pub(super) fn step(
    trained: &mut TrainedModel,
    batch: &Batch,
    progress: Progress,
) -> Result<Step, Error> {
    let source = trained.model.source_of(batch)?;
    let truths = batch.truths()?;
    let device = source.maps.device();
    let model = &trained.model;
    let config = model.config().clone();
    let background = config.task.classes().unwrap_or(1).saturating_sub(1);
    let heatmaps = model
        .heatmap
        .forward(source.maps.clone(), InputStatistics::Batch)?;
    let plain = heatmaps.clone().detach().inner();
    let mut extractor = config.extractor;
    let ranks = trained.ranks().clone();
    let most = ranks.largest(truths.iter().map(Vec::len).max().unwrap_or(0))?;
    let instances = extractor.instances.max(most);
    extractor.instances = 2 * instances;
    let own = model.heatmap.extract(&extractor, plain)?;
    let mut places = Vec::with_capacity(truths.len());
    let mut labels: Vec<i64> = Vec::with_capacity(truths.len() * instances);
    for (truths, own) in truths.iter().zip(own) {
        let mut keypoints: Vec<Keypoint> = truths.iter().map(centre).collect();
        labels.extend(truths.iter().map(|truth| truth.label as i64));
        let outside = |keypoint: &Keypoint| !truths.iter().any(|truth| holds(truth, keypoint));
        let beside = own.iter().map(|found| found.keypoint);
        // Where every place lies on an object, some are called background all the same.
        let (mut rest, on_objects): (Vec<Keypoint>, Vec<Keypoint>) = beside.partition(outside);
        rest.extend(on_objects);
        let missing = instances - keypoints.len();
        keypoints.extend(rest.into_iter().take(missing));
        labels.extend(std::iter::repeat_n(background as i64, missing));
        places.push(keypoints);
    }
    let points = keypoints::to_tensor(&places, &device)?;
    let patches = source.sample(points, config.geometry)?;
    let [images, _, channels, height, width] = patches.dims();
    let patches = patches.reshape([images * instances, channels, height, width]);
    let logits = model.task.forward(patches, InputStatistics::Running)?;
    let classes = logits.dims()[1];
    let logits = logits.reshape([images * instances, classes]);
    let labels = TensorData::new(labels, [images * instances, 1]);
    let labels = Tensor::<2, Int>::from_data(labels, &device);
    let task_losses = log_softmax(logits, 1).gather(1, labels).neg();
    let task_losses = task_losses.reshape([images * instances]);
    trained.step_task(&ranks.mean(task_losses.clone()).backward(), progress)?;

    let [_, _, rows, columns] = heatmaps.dims();
    let centres: Vec<Vec<Keypoint>> = truths
        .iter()
        .map(|truths| truths.iter().map(centre).collect())
        .collect();
    let heatmap = &trained.model.heatmap;
    let target = heatmap.target(&centres, None, [rows, columns], &device)?;
    let losses = heatmap.losses(heatmaps, target, 1)?;
    let mut heatmap_losses = losses.response / (rows * columns) as f64;
    if let Some(offsets) = losses.offsets {
        heatmap_losses = heatmap_losses + offsets;
    }
    trained.step_detector(&ranks.mean(heatmap_losses.clone()).backward(), progress)?;
    let task_loss = f64::from(ranks.mean_value(task_losses)?);
    let heatmap_loss = f64::from(ranks.mean_value(heatmap_losses)?);
    Ok(Step {
        measurements: Measurements::new()
            .with("task_loss", task_loss)
            .with("heatmap_loss", heatmap_loss),
        panels: Vec::new(),
    })
}

fn centre(truth: &Truth) -> Keypoint {
    let (x_px, y_px) = truth.bounds.centre_px();
    Keypoint {
        x_px,
        y_px,
        scale: 1.0,
    }
}

fn holds(truth: &Truth, keypoint: &Keypoint) -> bool {
    let bounds = &truth.bounds;
    (bounds.x_min_px..=bounds.x_max_px).contains(&keypoint.x_px)
        && (bounds.y_min_px..=bounds.y_max_px).contains(&keypoint.y_px)
}
