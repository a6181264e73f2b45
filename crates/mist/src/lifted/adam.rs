//! The Adam optimiser on one flat parameter vector (Kingma and Ba, 2015).

use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Settings of Adam.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdamConfig {
    /// Step size.
    pub rate: f32,
    /// Decay of the mean of gradients.
    pub beta1: f32,
    /// Decay of the mean of squared gradients.
    pub beta2: f32,
    /// Added to the root.
    pub epsilon: f32,
}

impl Default for AdamConfig {
    fn default() -> Self {
        Self {
            rate: 1e-4,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
        }
    }
}

/// Adam and its state; one pass over the vector per step.
#[derive(Clone, Debug)]
pub struct Adam {
    /// Settings; the rate may be changed between steps.
    pub config: AdamConfig,
    steps: u32,
    means: Vec<f32>,
    squares: Vec<f32>,
}

impl Adam {
    /// A fresh optimiser for `length` parameters.
    pub fn new(config: AdamConfig, length: usize) -> Self {
        Self {
            config,
            steps: 0,
            means: vec![0.0; length],
            squares: vec![0.0; length],
        }
    }

    /// The parameters after one step along a gradient.
    ///
    /// # Errors
    /// When the lengths differ or the device cannot be read.
    pub fn step(&mut self, parameters: Tensor<1>, gradient: Tensor<1>) -> Result<Tensor<1>, Error> {
        let device = parameters.device();
        let mut values = parameters.detach().inner().try_into_vec_as::<f32>()?;
        let gradient = gradient.try_into_vec_as::<f32>()?;
        if values.len() != self.means.len() || gradient.len() != self.means.len() {
            return Err(Error::Mismatch {
                what: "parameters and their gradient",
                expected: vec![self.means.len(), self.means.len()],
                actual: vec![values.len(), gradient.len()],
            });
        }
        self.update(&mut values, &gradient);
        let length = values.len();
        Ok(Tensor::from_data(
            TensorData::new(values, [length]),
            &device,
        ))
    }

    fn update(&mut self, values: &mut [f32], gradient: &[f32]) {
        let AdamConfig {
            rate,
            beta1,
            beta2,
            epsilon,
        } = self.config;
        self.steps = self.steps.saturating_add(1);
        let bias = |beta: f32| 1.0 - f64::from(beta).powf(f64::from(self.steps));
        let rate = (f64::from(rate) / bias(beta1)) as f32;
        let root_bias = (1.0 / bias(beta2).sqrt()) as f32;
        let state = self.means.iter_mut().zip(&mut self.squares);
        for ((value, &gradient), (mean, square)) in values.iter_mut().zip(gradient).zip(state) {
            *mean = beta1 * *mean + (1.0 - beta1) * gradient;
            *square = beta2 * *square + (1.0 - beta2) * gradient * gradient;
            *value -= rate * *mean / (square.sqrt() * root_bias + epsilon);
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    /// Two steps by hand: the first moves by the rate against the gradient's sign, whatever its size.
    #[test]
    fn the_first_step_has_the_size_of_the_rate() {
        let device = Device::flex();
        let mut adam = Adam::new(
            AdamConfig {
                rate: 0.1,
                ..AdamConfig::default()
            },
            2,
        );
        let start = Tensor::<1>::from_data([1.0, -2.0], &device);
        let gradient = Tensor::<1>::from_data([1e-3, -50.0], &device);
        let moved = adam.step(start, gradient).unwrap();
        let moved = moved.into_data().try_to_vec::<f32>().unwrap();
        assert!((moved[0] - 0.9).abs() < 1e-5 && (moved[1] + 1.9).abs() < 1e-5);
    }

    #[test]
    fn a_quadratic_is_minimised() {
        let device = Device::flex();
        let mut adam = Adam::new(
            AdamConfig {
                rate: 0.05,
                ..AdamConfig::default()
            },
            1,
        );
        let mut x = Tensor::<1>::from_data([3.0], &device);
        for _ in 0..500 {
            let gradient = (x.clone() - 1.0) * 2.0;
            x = adam.step(x, gradient).unwrap();
        }
        assert!((x.into_scalar::<f32>() - 1.0).abs() < 1e-2);
    }

    #[test]
    fn lengths_must_agree() {
        let device = Device::flex();
        let mut adam = Adam::new(AdamConfig::default(), 3);
        let two = Tensor::<1>::zeros([2], &device);
        assert!(adam.step(two.clone(), two).is_err());
    }
}
