//! The other side: PyTorch, which gets the same scenes over a pipe and is evaluated by the same code.

use std::sync::Mutex;
use std::time::Instant;

use burn::tensor::{Device, Tensor};
use mist::finder::Finder;
use mist::geometry::{Detection, PixelBox};
use mist_data::{Catalog, Split};

use super::{Reached, TimeToAccuracyOptions, VALIDATION_STEPS, note};
use crate::batches;
use crate::bench::peer::Peer;
use crate::error::Result;
use crate::evaluation::predict;
use crate::recipe::Recipe;
use crate::training::VALIDATION_IMAGES;

/// Side of a box in the released recipe.
const BOX_PX: f32 = 20.0;

/// Trains the released recipe until all targets are passed or the time is used up.
pub fn train(seed: u64, options: &TimeToAccuracyOptions) -> Result<Vec<Option<Reached>>> {
    let recipe = Recipe::load("mnist-hard-official", &[])?;
    let catalog = Catalog::new(options.data.as_deref());
    let scenes = catalog.open(&recipe.dataset, seed, Split::Train)?;
    let held_out = catalog.open(&recipe.dataset, 0, Split::Valid)?;
    let device = Device::flex();
    let mut reached = vec![None; options.targets.len()];
    let begun = Instant::now();
    let mut peer = Peer::start(&options.python)?;
    let instances = recipe.model.extractor.instances;
    peer.begin_training(&options.setting, seed, instances)?;
    let finder = PeerFinder {
        peer: Mutex::new(peer),
        instances,
        classes: held_out.class_names().len(),
    };
    for step in 1.. {
        let first = (step - 1) * recipe.batch as u64;
        let (_, batch) = batches::load(scenes.as_ref(), first, recipe.batch, 1, &device)?;
        let counts = batch.class_counts.unwrap_or_default();
        finder.with(|peer| peer.train(&batch.images, &counts))?;
        if step % VALIDATION_STEPS == 0 {
            let found = predict(&finder, held_out.as_ref(), VALIDATION_IMAGES, &device)?;
            let both = found.evaluate(None).metrics.get("both").unwrap_or(0.0);
            let now = Reached {
                secs: begun.elapsed().as_secs_f64(),
                images: step * recipe.batch as u64,
            };
            note(&mut reached, &options.targets, both, now);
        }
        if begun.elapsed() >= options.limit || reached.iter().all(Option::is_some) {
            break;
        }
    }
    Ok(reached)
}

/// The networks on the other side of the pipe.
#[derive(Debug)]
struct PeerFinder {
    peer: Mutex<Peer>,
    instances: usize,
    classes: usize,
}

impl PeerFinder {
    fn with<R>(&self, work: impl FnOnce(&mut Peer) -> Result<R>) -> Result<R> {
        let mut peer = match self.peer.lock() {
            Ok(peer) => peer,
            Err(poisoned) => poisoned.into_inner(),
        };
        work(&mut peer)
    }
}

impl Finder for PeerFinder {
    /// Gray: the other side repeats it.
    fn channels(&self) -> usize {
        1
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn classes(&self) -> Option<usize> {
        Some(self.classes)
    }

    fn find(
        &self,
        images: Tensor<4>,
        k: &[usize],
    ) -> std::result::Result<Vec<Vec<Detection>>, mist::Error> {
        let found = self
            .with(|peer| peer.detect(&images))
            .map_err(|error| mist::Error::Finder(error.to_string()))?;
        let detection = |[x_min_px, y_min_px, score, label]: [f32; 4]| Detection {
            bounds: PixelBox {
                x_min_px,
                y_min_px,
                x_max_px: x_min_px + BOX_PX,
                y_max_px: y_min_px + BOX_PX,
            },
            label: label as usize,
            score,
        };
        let images = found.into_iter().zip(k);
        Ok(images
            .map(|(found, &k)| found.into_iter().take(k).map(detection).collect())
            .collect())
    }

    fn to_safetensors(&self) -> std::result::Result<Vec<u8>, mist::Error> {
        Ok(Vec::new())
    }
}
