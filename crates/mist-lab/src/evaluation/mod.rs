//! A model judged on scenes that it has not seen.

mod stored;

use burn::tensor::{Device, Tensor};
use mist::extract::ScoredKeypoint;
use mist::geometry::Keypoint;
use mist::lifted::Seeds;
use mist::metrics::{
    Bootstrap, Evaluation, EvaluationConfig, Evidence, IMPULSE_RADIUS_PX, ImageResult, MatchCounts,
    MatchRule, SquaredError, impulse_of, kernel_corr,
};
use mist::model::{Model, TaskNetwork};
use mist_data::{GaborNoise, InstanceCount, Scene, SceneSet};

pub use stored::{EvaluateOptions, StoredEvaluation, evaluate};

use crate::batches::Batch;
use crate::error::Result;

/// Scenes taken at once.
const AT_ONCE: usize = 32;
/// Redrawn patches that are compared with the true kernel.
const KERNELS: usize = 1024;

/// Where keypoints come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proposals {
    /// E_K(H(I)).
    Heatmap,
    /// The image alone, as at the start of lifted training.
    Seeds(Seeds),
}

/// Seeds in the order in which they were found, the first with the highest score.
fn seeds(kind: Seeds, model: &Model, images: Tensor<4>) -> Result<Vec<Vec<ScoredKeypoint>>> {
    let config = model.config();
    let instances = config.extractor.instances;
    let found = kind.keypoints(images, config, 1.0)?;
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
#[derive(Debug, Default)]
pub struct Seen {
    /// True and found boxes of each.
    pub images: Vec<ImageResult>,
    /// Whether the boxes have labels.
    labelled: bool,
    /// Error of each redrawn image, for auto-encoders.
    reconstructions: Vec<SquaredError>,
    /// Impulses found in each image, for Gabor noise.
    impulses: Vec<MatchCounts>,
    /// Correlation of the redrawn kernel with the true one.
    kernel_corr: Option<f64>,
}

/// Runs the model on the first `count` scenes of a set; each scene's K is the number of its instances, as in the paper's
/// tables.
///
/// # Errors
/// When the model cannot be run on these scenes.
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
    let mut seen = Seen {
        labelled: !redraws,
        ..Seen::default()
    };
    let mut kernels = Vec::new();
    let mut first = 0;
    while first < count {
        let taken = (count - first).min(AT_ONCE as u64);
        let batch = Batch::draw(set, first, taken as usize, channels, device);
        let found = match proposals {
            Proposals::Heatmap => model.locate(batch.images.clone())?,
            Proposals::Seeds(kind) => seeds(kind, &model, batch.images.clone())?,
        };
        if redraws {
            // Images end at 0 and 1: bright objects that overlap add up to more, in the scene as in what is redrawn.
            let redrawn = model.redraw(batch.images.clone(), &found)?.clamp(0.0, 1.0);
            seen.reconstructions
                .extend(errors(&batch.images, &redrawn)?);
        }
        if set.noise().is_some() {
            let pairs = batch.scenes.iter().zip(&found);
            seen.impulses
                .extend(pairs.map(|(scene, found)| impulses(scene, found)));
            if redraws && kernels.len() < KERNELS {
                kernels.extend(redrawn_patches(&model, batch.images.clone(), &found)?);
            }
        }
        let detections = model.label(batch.images.clone(), &found)?;
        let pairs = batch.truths().into_iter().zip(detections);
        seen.images.extend(pairs.map(|(truths, mut detections)| {
            detections.truncate(truths.len());
            ImageResult { truths, detections }
        }));
        first += taken;
    }
    if let Some(noise) = set.noise() {
        seen.kernel_corr = kernel_corr(&kernels, &true_kernel(&model, noise));
    }
    Ok(seen)
}

/// Found impulses of one image, counted.
fn impulses(scene: &Scene, found: &[ScoredKeypoint]) -> MatchCounts {
    let truths: Vec<Keypoint> = scene
        .instances
        .iter()
        .map(|instance| {
            let (x_px, y_px) = instance.bounds.centre_px();
            Keypoint {
                x_px,
                y_px,
                scale: instance.scale,
            }
        })
        .collect();
    let found: Vec<Keypoint> = found.iter().map(|found| found.keypoint).collect();
    impulse_of(&truths, &found, IMPULSE_RADIUS_PX)
}

/// The first channel of every redrawn patch.
fn redrawn_patches(
    model: &Model,
    images: Tensor<4>,
    found: &[Vec<ScoredKeypoint>],
) -> Result<Vec<Vec<f32>>> {
    let (_, redrawn) = model.see(images, found)?;
    let [_, channels, height, width] = redrawn.dims();
    let values = redrawn.try_into_vec_as::<f32>()?;
    let patches = values.chunks_exact(channels * height * width);
    Ok(patches
        .map(|patch| patch[..height * width].to_vec())
        .collect())
}

/// The kernel as a patch would show it.
fn true_kernel(model: &Model, noise: &GaborNoise) -> Vec<f32> {
    let geometry = model.config().geometry;
    let side_px = f64::from(geometry.seen_px());
    noise.kernel(side_px, geometry.patch_px).pixels
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
        rule: if seen.labelled {
            MatchRule::Iou
        } else {
            MatchRule::IouUnlabelled
        },
        official_k: Some(instances),
        bootstrap,
    };
    let evidence = Evidence {
        images: &seen.images,
        reconstructions: &seen.reconstructions,
        impulses: &seen.impulses,
        kernel_corr: seen.kernel_corr,
    };
    Evaluation::new(evidence, &config)
}
