//! The optimiser of one network: gradient clipping, Adam and an exponential moving average of the weights.

use burn::tensor::{Gradients, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::{Adam, AdamConfig, Progress, Schedule};
use crate::Error;
use crate::networks::NetworkModule;
use crate::settings::{WEIGHT, within};

/// Settings of an [`Optimiser`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OptimiserConfig {
    /// Adam.
    pub adam: AdamConfig,
    /// Largest norm of the gradient; larger ones are scaled down. 0 clips nothing.
    pub clip_norm: f32,
    /// Decay of the exponential moving average of the weights, which is what is evaluated and shipped; 0 keeps none.
    pub ema_decay: f32,
    /// How the learning rate changes.
    pub schedule: Schedule,
}

/// Adam with clipping and averaging for one network.
#[derive(Clone, Debug)]
pub struct Optimiser {
    config: OptimiserConfig,
    pub(super) adam: Adam,
    /// The average, where one is kept.
    pub(super) average: Option<Vec<f32>>,
}

impl OptimiserConfig {
    /// Refuses impossible settings.
    ///
    /// # Errors
    /// When a number is out of range.
    pub fn check(&self) -> Result<(), Error> {
        let (adam, schedule) = (&self.adam, &self.schedule);
        within([
            ("adam.learning_rate", adam.learning_rate, 0.0..=f32::MAX),
            ("adam.epsilon", adam.epsilon, WEIGHT),
            ("adam.weight_decay", adam.weight_decay, WEIGHT),
            ("clip_norm", self.clip_norm, WEIGHT),
            ("schedule.decay_from", schedule.decay_from, 0.0..=1.0),
            ("schedule.final_share", schedule.final_share, 0.0..=1.0),
        ])?;
        let shares = [
            ("adam.beta1", adam.beta1),
            ("adam.beta2", adam.beta2),
            ("ema_decay", self.ema_decay),
        ];
        for (name, value) in shares {
            if !(0.0..1.0).contains(&value) {
                let requirement = "at least 0 and below 1".into();
                return Err(Error::Setting { name, requirement });
            }
        }
        Ok(())
    }
}

impl Optimiser {
    /// A fresh optimiser of a network.
    ///
    /// # Errors
    /// When the device cannot be read.
    pub fn new(config: OptimiserConfig, network: &NetworkModule) -> Result<Self, Error> {
        let values = network.parameter_values()?;
        Ok(Self {
            config,
            adam: Adam::new(config.adam, values.len()),
            average: (config.ema_decay > 0.0).then_some(values),
        })
    }

    /// Whether the network does not move at this step.
    pub fn is_frozen(&self, progress: Progress) -> bool {
        self.config.schedule.factor(progress) == 0.0
    }

    /// The network after one step along the gradients, at a share of the scheduled learning rate.
    ///
    /// # Errors
    /// When no gradient reached the network, or the device cannot be read.
    pub fn step(
        &mut self,
        network: NetworkModule,
        gradients: &Gradients,
        progress: Progress,
        rate_frac: f32,
    ) -> Result<NetworkModule, Error> {
        let mut gradient = network.gradient(gradients)?;
        self.clip(&mut gradient);
        let device = network.parameters.val().device();
        let mut values = network.parameter_values()?;
        let factor = self.config.schedule.factor(progress) * rate_frac;
        self.adam.step(&mut values, &gradient, factor)?;
        self.follow(&values);
        let length = values.len();
        network.with_parameters(Tensor::from_data(
            TensorData::new(values, [length]),
            &device,
        ))
    }

    fn clip(&self, gradient: &mut [f32]) {
        if self.config.clip_norm <= 0.0 {
            return;
        }
        let square: f64 = gradient.iter().map(|&g| f64::from(g) * f64::from(g)).sum();
        let norm = square.sqrt() as f32;
        if norm > self.config.clip_norm {
            let share = self.config.clip_norm / norm;
            gradient.iter_mut().for_each(|g| *g *= share);
        }
    }

    /// Early on the average forgets faster, so that it does not hold on to the starting weights.
    fn follow(&mut self, values: &[f32]) {
        let Some(average) = &mut self.average else {
            return;
        };
        let steps = self.adam.state().0 as f32;
        let decay = self.config.ema_decay.min((1.0 + steps) / (10.0 + steps));
        for (mean, value) in average.iter_mut().zip(values) {
            *mean += (1.0 - decay) * (value - *mean);
        }
    }
}
