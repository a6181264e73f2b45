//! Patches a little off their place: the task network sees each object anew every time.

use burn::tensor::Tensor;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::LiftedConfig;
use crate::Error;
use crate::geometry::Keypoint;
use crate::keypoints;
use crate::sample::{PatchGeometry, TurnedKeypoint, sample, sample_turned};
use crate::training::Progress;

impl LiftedConfig {
    /// The patches that the task network learns from, and their keypoints: shifted, scaled and turned at random, the
    /// same for the same step.
    pub(super) fn jittered_patches(
        &self,
        images: &Tensor<4>,
        points: Tensor<3>,
        geometry: PatchGeometry,
        progress: Progress,
    ) -> Result<(Tensor<5>, Tensor<3>), Error> {
        if [self.jitter_px, self.jitter_scale, self.jitter_turn_rad] == [0.0; 3] {
            let patches = sample(images.clone(), points.clone(), geometry)?;
            return Ok((patches, points));
        }
        let mut random = ChaCha8Rng::seed_from_u64(progress.step);
        let mut within = |most: f32| most * (random.random::<f32>() * 2.0 - 1.0);
        let moved: Vec<Vec<Keypoint>> = keypoints::from_tensor(points.inner())?
            .into_iter()
            .map(|image| {
                let moved = image.into_iter().map(|keypoint| Keypoint {
                    x_px: keypoint.x_px + within(self.jitter_px),
                    y_px: keypoint.y_px + within(self.jitter_px),
                    scale: keypoint.scale * (1.0 + within(self.jitter_scale)),
                });
                moved.collect()
            })
            .collect();
        let points = keypoints::to_tensor(&moved, &images.device())?;
        if self.jitter_turn_rad == 0.0 {
            let patches = sample(images.clone(), points.clone(), geometry)?;
            return Ok((patches, points));
        }
        let turned: Vec<Vec<TurnedKeypoint>> = moved
            .into_iter()
            .map(|image| {
                let turned = image.into_iter().map(|keypoint| TurnedKeypoint {
                    keypoint,
                    turn_rad: within(self.jitter_turn_rad),
                });
                turned.collect()
            })
            .collect();
        let patches = sample_turned(images, &turned, geometry)?;
        Ok((patches, points))
    }
}
