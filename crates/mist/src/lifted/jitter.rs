//! Random changes of patches, so that the task network sees each object anew every time.

use burn::tensor::{Tensor, TensorData};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::JitterConfig;
use crate::Error;
use crate::geometry::Keypoint;
use crate::keypoints;
use crate::sample::{PatchGeometry, RotatedKeypoint, Source, sample_rotated};

impl JitterConfig {
    /// The patches that the task network learns from, and their keypoints: shifted, scaled and rotated at random, with the
    /// numbers that `random` gives each image.
    pub(super) fn patches(
        &self,
        source: &Source,
        points: Tensor<3>,
        geometry: PatchGeometry,
        random: &impl Fn(usize) -> ChaCha8Rng,
    ) -> Result<(Tensor<5>, Tensor<3>), Error> {
        if *self == Self::default() {
            let patches = source.sample(points.clone(), geometry)?;
            return Ok((patches, points));
        }
        let points = keypoints::from_tensor(points.inner())?;
        let mut random: Vec<ChaCha8Rng> = (0..points.len()).map(random).collect();
        let moved: Vec<Vec<Keypoint>> = points
            .into_iter()
            .zip(&mut random)
            .map(|(image, random)| {
                let moved = image.into_iter().map(|keypoint| Keypoint {
                    x_px: keypoint.x_px + within(self.shift_px, random),
                    y_px: keypoint.y_px + within(self.shift_px, random),
                    scale: keypoint.scale * (1.0 + within(self.scale_frac, random)),
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
            .zip(&mut random)
            .map(|(image, random)| {
                let rotated = image.into_iter().map(|keypoint| RotatedKeypoint {
                    keypoint,
                    rotation_rad: within(self.rotation_rad, random),
                });
                rotated.collect()
            })
            .collect();
        let patches = sample_rotated(&source.maps, &rotated, geometry)?;
        Ok((patches, points))
    }

    /// Some channels of each patch zeroed, the others larger by as much.
    fn dropped(&self, patches: Tensor<5>, random: &mut [ChaCha8Rng]) -> Tensor<5> {
        if self.dropout_frac == 0.0 {
            return patches;
        }
        let [batch, instances, channels, ..] = patches.dims();
        let kept = 1.0 / (1.0 - self.dropout_frac);
        let factors = random.iter_mut().flat_map(|random| {
            let draw = |_| match random.random::<f32>() < self.dropout_frac {
                true => 0.0,
                false => kept,
            };
            (0..instances * channels).map(draw).collect::<Vec<f32>>()
        });
        let shape = [batch, instances, channels, 1, 1];
        let factors = TensorData::new(factors.collect::<Vec<f32>>(), shape);
        patches.clone() * Tensor::from_data(factors, &patches.device())
    }
}

fn within(most: f32, random: &mut ChaCha8Rng) -> f32 {
    most * (random.random::<f32>() * 2.0 - 1.0)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::training::random_of_image;

    fn keypoints_of(seed: u64, step: u64) -> Vec<f32> {
        let device = Device::flex().autodiff();
        let jitter = JitterConfig {
            shift_px: 2.0,
            scale_frac: 0.1,
            ..JitterConfig::default()
        };
        let source = Source::image(Tensor::zeros([1, 1, 16, 16], &device));
        let points = Tensor::full([1, 3, 3], 8.0, &device);
        let geometry = PatchGeometry::mnist();
        let (_, points) = jitter
            .patches(&source, points, geometry, &|image| {
                random_of_image(seed, step, image)
            })
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
