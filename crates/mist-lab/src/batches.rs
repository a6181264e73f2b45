//! Scenes as tensors.

use std::path::Path;
use std::sync::Arc;

use burn::tensor::{Device, Tensor, TensorData};
use mist::geometry::Truth;
use mist_data::{Digits, Scene, SceneKind, SceneSet, Split, locate, render_range};

use crate::error::Result;

/// The scenes of a kind, with MNIST from `data`, or from wherever it is, if the kind needs it.
///
/// # Errors
/// When MNIST is missing or damaged.
pub fn open(kind: SceneKind, seed: u64, split: Split, data: Option<&Path>) -> Result<SceneSet> {
    let digits = if kind.needs_digits() {
        Some(open_digits(data)?)
    } else {
        None
    };
    Ok(SceneSet::new(kind, seed, split, digits)?)
}

/// The MNIST digits in `data`, or from wherever they are.
///
/// # Errors
/// When they are missing or damaged.
pub fn open_digits(data: Option<&Path>) -> Result<Arc<Digits>> {
    Ok(Arc::new(Digits::open(&locate(data)?)?))
}

/// Some scenes and what is known of them.
#[derive(Clone, Debug)]
pub struct Batch {
    /// As they were drawn.
    pub scenes: Vec<Scene>,
    /// `[batch, channels, height, width]`
    pub images: Tensor<4>,
}

impl Batch {
    /// Scenes `first..first + count`, their one channel repeated.
    pub fn draw(
        set: &SceneSet,
        first: u64,
        count: usize,
        channels: usize,
        device: &Device,
    ) -> Self {
        let scenes = render_range(set, first..first + count as u64);
        let side = set.canvas_px();
        let mut pixels = Vec::with_capacity(count * channels * side * side);
        for scene in &scenes {
            for _ in 0..channels {
                pixels.extend_from_slice(&scene.image.pixels);
            }
        }
        let data = TensorData::new(pixels, [count, channels, side, side]);
        Self {
            scenes,
            images: Tensor::from_data(data, device),
        }
    }

    /// Share of each class among an image's instances, `[batch, classes]`: the only label that MIST sees.
    pub fn mean_labels(&self, classes: usize) -> Tensor<2> {
        let shares: Vec<f32> = self
            .scenes
            .iter()
            .flat_map(|scene| {
                let counts = scene.class_counts(classes);
                let total = counts.iter().sum::<usize>().max(1) as f32;
                counts.into_iter().map(move |count| count as f32 / total)
            })
            .collect();
        let data = TensorData::new(shares, [self.scenes.len(), classes]);
        Tensor::from_data(data, &self.images.device())
    }

    /// The true boxes of each image: for evaluation and the supervised bound.
    pub fn truths(&self) -> Vec<Vec<Truth>> {
        self.scenes.iter().map(truths).collect()
    }
}

fn truths(scene: &Scene) -> Vec<Truth> {
    let truth = |instance: &mist_data::Instance| Truth {
        bounds: instance.bounds,
        label: instance.label,
    };
    scene.instances.iter().map(truth).collect()
}
