//! The Adam optimiser on one flat parameter vector (Kingma and Ba, 2015).

use serde::{Deserialize, Serialize};

use crate::Error;

/// Settings of Adam.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdamConfig {
    /// Step size.
    pub learning_rate: f32,
    /// Decay of the mean of gradients.
    pub beta1: f32,
    /// Decay of the mean of squared gradients.
    pub beta2: f32,
    /// Added to the root.
    pub epsilon: f32,
    /// Share of each parameter that a step takes off, times the learning rate (Loshchilov and Hutter, 2019); 0 is Adam.
    #[serde(skip_serializing_if = "is_zero")]
    pub weight_decay: f32,
}

fn is_zero(value: &f32) -> bool {
    *value == 0.0
}

impl Default for AdamConfig {
    fn default() -> Self {
        Self {
            learning_rate: 1e-4,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.0,
        }
    }
}

/// Adam and its state; one pass over the vector per step.
#[derive(Clone, Debug)]
pub struct Adam {
    config: AdamConfig,
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

    /// One step of `values` along a gradient, at a multiple of the learning rate.
    ///
    /// # Errors
    /// When the lengths differ.
    pub fn step(&mut self, values: &mut [f32], gradient: &[f32], factor: f32) -> Result<(), Error> {
        if values.len() != self.means.len() || gradient.len() != self.means.len() {
            return Err(Error::Mismatch {
                what: "parameters and their gradient",
                expected: vec![self.means.len(), self.means.len()],
                actual: vec![values.len(), gradient.len()],
            });
        }
        self.update(values, gradient, factor);
        Ok(())
    }

    /// Steps taken, means and squares.
    pub(super) fn state(&self) -> (u32, &[f32], &[f32]) {
        (self.steps, &self.means, &self.squares)
    }

    /// Continues from a state that [`Adam::state`] gave, of the same length.
    pub(super) fn restore(&mut self, steps: u32, means: Vec<f32>, squares: Vec<f32>) {
        (self.steps, self.means, self.squares) = (steps, means, squares);
    }

    fn update(&mut self, values: &mut [f32], gradient: &[f32], factor: f32) {
        let AdamConfig {
            learning_rate,
            beta1,
            beta2,
            epsilon,
            weight_decay,
        } = self.config;
        self.steps = self.steps.saturating_add(1);
        let bias = |beta: f32| 1.0 - f64::from(beta).powf(f64::from(self.steps));
        let rate = (f64::from(learning_rate) * f64::from(factor) / bias(beta1)) as f32;
        let root_bias = (1.0 / bias(beta2).sqrt()) as f32;
        let kept = 1.0 - learning_rate * factor * weight_decay;
        let state = self.means.iter_mut().zip(&mut self.squares);
        for ((value, &gradient), (mean, square)) in values.iter_mut().zip(gradient).zip(state) {
            *mean = beta1 * *mean + (1.0 - beta1) * gradient;
            *square = beta2 * *square + (1.0 - beta2) * gradient * gradient;
            *value = *value * kept - rate * *mean / (square.sqrt() * root_bias + epsilon);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adam(learning_rate: f32, length: usize) -> Adam {
        let config = AdamConfig {
            learning_rate,
            ..AdamConfig::default()
        };
        Adam::new(config, length)
    }

    /// The first step moves by the learning rate against the gradient's sign, whatever its size.
    #[test]
    fn the_first_step_has_the_size_of_the_learning_rate() {
        let mut values = [1.0, -2.0];
        adam(0.1, 2).step(&mut values, &[1e-3, -50.0], 1.0).unwrap();
        assert!((values[0] - 0.9).abs() < 1e-5 && (values[1] + 1.9).abs() < 1e-5);
    }

    #[test]
    fn a_quadratic_is_minimised() {
        let mut adam = adam(0.05, 1);
        let mut x = [3.0];
        for _ in 0..500 {
            let gradient = [(x[0] - 1.0) * 2.0];
            adam.step(&mut x, &gradient, 1.0).unwrap();
        }
        assert!((x[0] - 1.0).abs() < 1e-2);
    }

    #[test]
    fn a_restored_optimiser_goes_on_to_the_bit() {
        let gradient = |step: u32| [(step as f32).sin(), 0.3];
        let (mut whole, mut values) = (adam(0.01, 2), [0.5, 0.5]);
        for step in 0..7 {
            whole.step(&mut values, &gradient(step), 1.0).unwrap();
        }
        let (mut first, mut again) = (adam(0.01, 2), [0.5, 0.5]);
        for step in 0..3 {
            first.step(&mut again, &gradient(step), 1.0).unwrap();
        }
        let (steps, means, squares) = first.state();
        let mut second = adam(0.01, 2);
        second.restore(steps, means.to_vec(), squares.to_vec());
        for step in 3..7 {
            second.step(&mut again, &gradient(step), 1.0).unwrap();
        }
        assert_eq!(values, again);
    }

    #[test]
    fn lengths_must_agree() {
        let mut two = [0.0; 2];
        assert!(adam(0.1, 3).step(&mut two, &[0.0; 2], 1.0).is_err());
    }
}
