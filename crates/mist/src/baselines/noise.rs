//! Random numbers of one step: a pure function of the seed and the step.

use burn::tensor::{Device, Tensor, TensorData};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Where the numbers come from; none are drawn from [`Noise::Silent`], whose distributions are at their modes.
#[derive(Debug)]
pub(crate) enum Noise {
    Drawn(Box<ChaCha8Rng>),
    Silent,
}

impl Noise {
    pub fn of_step(seed: u64, step: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(step);
        Self::Drawn(Box::new(random))
    }

    /// Whether numbers are drawn at all.
    pub fn is_drawn(&self) -> bool {
        matches!(self, Self::Drawn(_))
    }

    /// Normal numbers of deviation 1, or zeros.
    pub fn normal<const D: usize>(&mut self, shape: [usize; D], device: &Device) -> Tensor<D> {
        self.tensor(shape, device, gaussian)
    }

    /// One normal number, or zero.
    pub fn one(&mut self) -> f32 {
        match self {
            Self::Drawn(random) => gaussian(random),
            Self::Silent => 0.0,
        }
    }

    /// One number, uniform in `0..1`, or one half.
    pub fn share(&mut self) -> f32 {
        match self {
            Self::Drawn(random) => random.random(),
            Self::Silent => 0.5,
        }
    }

    /// Logistic numbers, or zeros.
    pub fn logistic<const D: usize>(&mut self, shape: [usize; D], device: &Device) -> Tensor<D> {
        self.tensor(shape, device, |random| {
            let uniform = random.random::<f32>().clamp(1e-7, 1.0 - 1e-7);
            (uniform / (1.0 - uniform)).ln()
        })
    }

    fn tensor<const D: usize>(
        &mut self,
        shape: [usize; D],
        device: &Device,
        draw: impl Fn(&mut ChaCha8Rng) -> f32,
    ) -> Tensor<D> {
        match self {
            Self::Drawn(random) => {
                let count = shape.iter().product();
                let values: Vec<f32> = (0..count).map(|_| draw(random)).collect();
                Tensor::from_data(TensorData::new(values, shape), device)
            }
            Self::Silent => Tensor::zeros(shape, device),
        }
    }
}

/// A normal number (Box and Muller).
fn gaussian(random: &mut ChaCha8Rng) -> f32 {
    let uniform = random.random::<f32>().max(f32::MIN_POSITIVE);
    let length = (-2.0 * uniform.ln()).sqrt();
    length * (std::f32::consts::TAU * random.random::<f32>()).cos()
}
