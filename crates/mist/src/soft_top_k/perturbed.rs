//! The mean selection of perturbed scores (Cordonnier et al., 2021; Berthet et al., 2020).

use burn::tensor::{Tensor, TensorData};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::random::normals;

/// What each noisy copy of a batch's scores selects.
#[derive(Debug)]
pub struct Selections {
    batch: usize,
    samples: usize,
    places: usize,
    sigma: f32,
    /// `[batch, samples, places]`: 1 where a place is selected.
    selected: Vec<f32>,
    /// `[batch, samples, places]`: standard normal.
    noise: Vec<f32>,
}

impl Selections {
    pub fn new(
        scores: &[f32],
        places: usize,
        k: usize,
        sigma: f32,
        samples: usize,
        seed: u64,
        step: u64,
    ) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(step);
        let batch = scores.len() / places;
        let mut noise: Vec<f32> = Vec::with_capacity(batch * samples * places + 1);
        while noise.len() < batch * samples * places {
            let (a, b) = normals(1.0, &mut random);
            noise.extend([a, b]);
        }
        noise.truncate(batch * samples * places);
        Self::of_noise(scores, places, k, sigma, noise)
    }

    pub fn of_noise(scores: &[f32], places: usize, k: usize, sigma: f32, noise: Vec<f32>) -> Self {
        let batch = scores.len() / places;
        let samples = noise.len() / scores.len().max(1);
        let mut selected = vec![0.0; noise.len()];
        let mut perturbed = vec![0.0; places];
        let copies = noise
            .chunks_exact(places)
            .zip(selected.chunks_exact_mut(places));
        for (copy, (noise, selected)) in copies.enumerate() {
            let scores = &scores[copy / samples * places..][..places];
            for ((value, score), noise) in perturbed.iter_mut().zip(scores).zip(noise) {
                *value = score + sigma * noise;
            }
            for place in largest(&perturbed, k) {
                selected[place] = 1.0;
            }
        }
        Self {
            batch,
            samples,
            places,
            sigma,
            selected,
            noise,
        }
    }

    /// The mean selection, with the gradient `E[selection noise^T] / sigma`.
    pub fn masks(self, scores: Tensor<2>) -> Tensor<2> {
        let shape = [self.batch, self.samples, self.places];
        let device = scores.device();
        let tensor = |values| Tensor::<3>::from_data(TensorData::new(values, shape), &device);
        let (selected, noise) = (tensor(self.selected), tensor(self.noise));
        let masks = selected.clone().mean_dim(1);
        // Zero, with a gradient.
        let moved = scores.clone() - scores.detach();
        let moved = moved.reshape([self.batch, self.places, 1]);
        let along = noise.matmul(moved) / (f64::from(self.sigma) * self.samples as f64);
        let followed = selected.transpose().matmul(along);
        let flat = [self.batch, self.places];
        masks.reshape(flat) + followed.reshape(flat)
    }
}

/// Places of the k largest scores; of equals, the first.
pub fn largest(scores: &[f32], k: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..scores.len()).collect();
    if k < places.len() {
        places.select_nth_unstable_by(k, |&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
        places.truncate(k);
    }
    places
}
