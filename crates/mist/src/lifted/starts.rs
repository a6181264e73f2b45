//! Where the keypoints of a step start.

use burn::tensor::Tensor;

use super::{LiftedConfig, Seeds, Task};
use crate::Error;
use crate::extract::{ScoredKeypoint, cover, held_contrast};
use crate::geometry::Keypoint;
use crate::heatmap::ScaleLevels;
use crate::keypoints;
use crate::model::ModelConfig;
use crate::training::{Progress, Trainee};

impl Seeds {
    /// K keypoints of each image, found in the image alone.
    ///
    /// # Shapes
    /// - `images`: `[batch, channels, height, width]`
    ///
    /// # Errors
    /// When there are more keypoints than pixels, or the device cannot be read.
    pub fn keypoints(
        self,
        images: Tensor<4>,
        config: &ModelConfig,
        box_share: f32,
    ) -> Result<Vec<Vec<Keypoint>>, Error> {
        match self {
            Self::Cover => {
                let box_px = config.geometry.base_box_px * box_share;
                cover(images, config.extractor.instances, box_px, &config.scales)
            }
            Self::Peaks => Ok(without_scores(config.extractor.peaks(images)?)),
        }
    }
}

impl LiftedConfig {
    /// Whether keypoints are seeds still.
    pub(super) fn seeded(&self, progress: Progress) -> bool {
        progress.step < self.seeded_steps
    }

    /// Seeds at first; later E_K(H(I)), or the seeds where the task likes them better.
    pub(super) fn starts(
        &self,
        trainee: &Trainee,
        images: &Tensor<4>,
        heatmaps: Tensor<4>,
        task: &impl Task,
        progress: Progress,
    ) -> Result<Vec<Vec<Keypoint>>, Error> {
        let config = trainee.model.config();
        let finest = self.finest(progress, &config.scales);
        let coarse = |starts| not_finer(starts, finest);
        if self.seeded(progress) {
            return Ok(coarse(self.seeds.keypoints(
                images.clone().inner(),
                config,
                self.seed_box_share,
            )?));
        }
        let levels = trainee.model.heatmap.levels();
        let own = coarse(without_scores(config.extractor.extract(heatmaps, levels)?));
        if !self.seeds_compete && self.reseed_below == 0.0 {
            return Ok(own);
        }
        let seeds = coarse(self.seeds.keypoints(
            images.clone().inner(),
            config,
            self.seed_box_share,
        )?);
        let own = self.reseeded(images, own, &seeds, config)?;
        if !self.seeds_compete {
            return Ok(own);
        }
        let frozen = trainee.model.task.frozen();
        let losses = |starts: &[Vec<Keypoint>]| -> Result<Vec<f32>, Error> {
            let points = keypoints::to_tensor(starts, &images.device())?;
            let losses = self.task_losses(trainee, &frozen, images, points, task)?;
            Ok(losses.inner().try_into_vec_as::<f32>()?)
        };
        let (own_losses, seed_losses) = (losses(&own)?, losses(&seeds)?);
        let losses = own_losses.into_iter().zip(seed_losses);
        Ok(own
            .into_iter()
            .zip(seeds)
            .zip(losses)
            .map(
                |((own, seed), (own_loss, seed_loss))| {
                    if seed_loss < own_loss { seed } else { own }
                },
            )
            .collect())
    }

    /// Puts each keypoint that holds next to nothing where a seed is that no other keypoint stands on.
    fn reseeded(
        &self,
        images: &Tensor<4>,
        own: Vec<Vec<Keypoint>>,
        seeds: &[Vec<Keypoint>],
        config: &ModelConfig,
    ) -> Result<Vec<Vec<Keypoint>>, Error> {
        if self.reseed_below == 0.0 {
            return Ok(own);
        }
        let box_px = config.geometry.base_box_px;
        let held = held_contrast(images.clone().inner(), &own, box_px)?;
        Ok(own
            .into_iter()
            .zip(held)
            .zip(seeds)
            .map(|((own, held), seeds)| {
                let mean = held.iter().sum::<f64>() / held.len().max(1) as f64;
                let enough = mean * f64::from(self.reseed_below);
                reseed(own, &held, enough, seeds, box_px)
            })
            .collect())
    }

    /// The smallest scale that is allowed yet: the largest level at first, the smallest in the end.
    fn finest(&self, progress: Progress, levels: &ScaleLevels) -> f32 {
        let values = || levels.values().iter().copied();
        let (smallest, largest) = (
            values().fold(f32::INFINITY, f32::min),
            values().fold(0.0, f32::max),
        );
        let way = progress.step as f32 / self.coarse_to_fine_steps.max(1) as f32;
        if self.coarse_to_fine_steps == 0 || way >= 1.0 {
            return 0.0;
        }
        largest * (smallest / largest).powf(way)
    }
}

fn without_scores(extracted: Vec<Vec<ScoredKeypoint>>) -> Vec<Vec<Keypoint>> {
    let place = |image: Vec<ScoredKeypoint>| image.into_iter().map(|p| p.keypoint).collect();
    extracted.into_iter().map(place).collect()
}

fn not_finer(mut starts: Vec<Vec<Keypoint>>, finest: f32) -> Vec<Vec<Keypoint>> {
    for keypoint in starts.iter_mut().flatten() {
        keypoint.scale = keypoint.scale.max(finest);
    }
    starts
}

fn reseed(
    own: Vec<Keypoint>,
    held: &[f64],
    enough: f64,
    seeds: &[Keypoint],
    box_px: f32,
) -> Vec<Keypoint> {
    let used = own.iter().zip(held).filter(|(_, held)| **held >= enough);
    let used: Vec<Keypoint> = used.map(|(keypoint, _)| *keypoint).collect();
    let apart = |seed: &&Keypoint| {
        let near = |other: &Keypoint| {
            (other.x_px - seed.x_px).hypot(other.y_px - seed.y_px) < box_px / 2.0
        };
        !used.iter().any(near)
    };
    let mut free = seeds.iter().filter(apart).copied();
    let placed = own.iter().zip(held).map(|(&keypoint, &held)| {
        let seed = if held < enough { free.next() } else { None };
        seed.unwrap_or(keypoint)
    });
    placed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x_px: f32) -> Keypoint {
        Keypoint {
            x_px,
            y_px: 5.0,
            scale: 1.0,
        }
    }

    #[test]
    fn an_unused_keypoint_goes_to_a_seed_that_is_free() {
        let own = vec![at(10.0), at(90.0), at(50.0)];
        let seeds = [at(12.0), at(30.0), at(49.0)];
        let placed = reseed(own.clone(), &[5.0, 0.1, 4.0], 1.0, &seeds, 20.0);
        assert_eq!(placed, [at(10.0), at(30.0), at(50.0)]);
        let placed = reseed(own.clone(), &[5.0, 0.1, 4.0], 1.0, &seeds[..1], 20.0);
        assert_eq!(placed, own);
    }

    #[test]
    fn scales_start_coarse_and_become_free() {
        let lifted = LiftedConfig {
            coarse_to_fine_steps: 100,
            ..LiftedConfig::official()
        };
        let levels = ScaleLevels::lf_net();
        let at = |step| {
            let progress = Progress { step, steps: 200 };
            lifted.finest(progress, &levels)
        };
        let largest = levels.values().iter().copied().fold(0.0, f32::max);
        assert_eq!(at(0), largest);
        assert!((at(50) - 1.0).abs() < 1e-3, "{}", at(50));
        assert_eq!(at(100), 0.0);
    }
}
