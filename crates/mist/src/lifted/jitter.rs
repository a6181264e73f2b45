//! Random changes of patches, so that the task network sees each object anew every time.

use burn::tensor::{Tensor, TensorData};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::JitterConfig;
use crate::Error;
use crate::geometry::Keypoint;
use crate::keypoints;
use crate::sample::{PatchGeometry, RotatedKeypoint, Source, sample_rotated};
use crate::training::Progress;

impl JitterConfig {
    /// The patches that the task network learns from, and their keypoints: shifted, scaled and rotated at random, the
    /// same for the same seed and step.
    pub(super) fn patches(
        &self,
        source: &Source,
        points: Tensor<3>,
        geometry: PatchGeometry,
        seed: u64,
        progress: Progress,
    ) -> Result<(Tensor<5>, Tensor<3>), Error> {
        if *self == Self::default() {
            let patches = source.sample(points.clone(), geometry)?;
            return Ok((patches, points));
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(progress.step);
        let mut within = |most: f32| most * (random.random::<f32>() * 2.0 - 1.0);
        let moved: Vec<Vec<Keypoint>> = keypoints::from_tensor(points.inner())?
            .into_iter()
            .map(|image| {
                let moved = image.into_iter().map(|keypoint| Keypoint {
                    x_px: keypoint.x_px + within(self.shift_px),
                    y_px: keypoint.y_px + within(self.shift_px),
                    scale: keypoint.scale * (1.0 + within(self.scale_frac)),
                });
                moved.collect()
            })
            .collect();
        let points = keypoints::to_tensor(&moved, &source.maps.device())?;
        if self.rotation_rad == 0.0 {
            let patches = source.sample(points.clone(), geometry)?;
            return Ok((self.dropped(patches, &mut random), points));
        }
        let rotated: Vec<Vec<RotatedKeypoint>> = moved
            .into_iter()
            .map(|image| {
                let rotated = image.into_iter().map(|keypoint| RotatedKeypoint {
                    keypoint,
                    rotation_rad: within(self.rotation_rad),
                });
                rotated.collect()
            })
            .collect();
        let patches = sample_rotated(&source.maps, &rotated, geometry)?;
        Ok((patches, points))
    }

    /// Some channels of each patch zeroed, the others larger by as much.
    fn dropped(&self, patches: Tensor<5>, random: &mut ChaCha8Rng) -> Tensor<5> {
        if self.dropout_frac == 0.0 {
            return patches;
        }
        let [batch, instances, channels, ..] = patches.dims();
        let kept = 1.0 / (1.0 - self.dropout_frac);
        let factors: Vec<f32> = (0..batch * instances * channels)
            .map(|_| match random.random::<f32>() < self.dropout_frac {
                true => 0.0,
                false => kept,
            })
            .collect();
        let shape = [batch, instances, channels, 1, 1];
        let factors = Tensor::from_data(TensorData::new(factors, shape), &patches.device());
        patches * factors
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    fn keypoints_of(seed: u64, step: u64) -> Vec<f32> {
        let device = Device::flex().autodiff();
        let jitter = JitterConfig {
            shift_px: 2.0,
            scale_frac: 0.1,
            ..JitterConfig::default()
        };
        let source = Source::image(Tensor::zeros([1, 1, 16, 16], &device));
        let points = Tensor::full([1, 3, 3], 8.0, &device);
        let progress = Progress { step, steps: 9 };
        let geometry = PatchGeometry::mnist();
        let (_, points) = jitter
            .patches(&source, points, geometry, seed, progress)
            .unwrap();
        points.inner().try_into_vec_as::<f32>().unwrap()
    }

    #[test]
    fn every_seed_and_every_step_has_its_own_jitter() {
        assert_eq!(keypoints_of(1, 4), keypoints_of(1, 4));
        assert_ne!(keypoints_of(1, 4), keypoints_of(2, 4));
        assert_ne!(keypoints_of(1, 4), keypoints_of(1, 5));
    }
}
