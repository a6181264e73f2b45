//! The loop: attend, infer, repeat.

use burn::tensor::Tensor;
use burn::tensor::activation::{sigmoid, tanh};

use super::networks::{Networks, Part};
use super::{Esl16Config, binary_concrete_kl, gaussian_kl, lstm_cell};
use crate::Error;
use crate::baselines::noise::Noise;
use crate::sample::{PatchGeometry, paste, sample};

/// What an image became.
pub(super) struct Attended {
    /// Divergence from the priors, `[batch, 1]`.
    pub divergence: Tensor<2>,
    /// The sum of what was redrawn, `[batch, channels, height, width]`; not below 0, and above 1 where windows overlap.
    pub redrawn: Tensor<4>,
    /// The steps.
    pub glimpses: Vec<Glimpse>,
}

/// One step of the loop on all images.
pub(super) struct Glimpse {
    /// `[batch, 1, 3]`; the box at scale 1 is the canvas.
    pub keypoints: Tensor<3>,
    /// Presence, `[batch, 1]`; zero where the loop had stopped.
    pub presence: Tensor<2>,
}

/// How the window and its box are read and pasted.
pub(super) fn geometry(config: &Esl16Config, window_px: usize) -> PatchGeometry {
    PatchGeometry {
        base_box_px: config.canvas_px as f32,
        patch_px: window_px,
        context_px: 0.0,
    }
}

/// Settings and weights of the loop.
pub(super) struct Attention<'a> {
    pub config: &'a Esl16Config,
    pub networks: &'a Networks,
    pub geometry: PatchGeometry,
    /// The most steps.
    pub steps: usize,
    /// Log-odds of the prior of presence.
    pub prior_log_odds: f32,
}

impl Attention<'_> {
    /// Runs the loop. With [`Noise::Silent`] everything is at its mean, and presence is 0 or 1.
    pub fn run(&self, images: Tensor<4>, noise: &mut Noise) -> Result<Attended, Error> {
        let device = images.device();
        let [batch, _, height, width] = images.dims();
        let canvas_px = self.config.canvas_px;
        if [height, width] != [canvas_px; 2] {
            return Err(Error::Mismatch {
                what: "sides of the images and `canvas_px`",
                expected: vec![canvas_px; 2],
                actual: vec![height, width],
            });
        }
        let seen = self
            .networks
            .run(Part::LstmInput, images.clone().flatten(1, 3))?;
        let mut hidden = Tensor::zeros([batch, self.config.lstm_units], &device);
        let mut cell = hidden.clone();
        let mut absent = Tensor::<2>::zeros([batch, 1], &device);
        let mut divergence = absent.clone();
        let mut redrawn = images.zeros_like();
        let mut glimpses = Vec::with_capacity(self.steps);
        for _ in 0..self.steps {
            let gates = seen.clone() + self.networks.run(Part::LstmHidden, hidden)?;
            (hidden, cell) = lstm_cell(gates, cell);
            let log_odds = self.networks.run(Part::Presence, hidden.clone())?;
            let logits =
                (log_odds.clone() + noise.logistic([batch, 1], &device)) / self.config.temperature;
            let mut presence = sigmoid(logits.clone());
            if !noise.is_drawn() {
                presence = presence.round();
            }
            // Whether there is one more is asked where the loop has not stopped, and what it is where it goes on.
            let asked = self.running(&absent);
            absent = absent + (presence.clone().neg() + 1.0);
            let running = self.running(&absent);
            let presence_kl = binary_concrete_kl(
                logits,
                log_odds,
                self.prior_log_odds,
                self.config.temperature,
            );
            let (keypoints, place_kl) = self.place(hidden.clone(), noise)?;
            let (window, code_kl) = self.redraw(images.clone(), keypoints.clone(), noise)?;
            divergence = divergence + presence_kl * asked + (place_kl + code_kl) * running.clone();
            let presence = presence * running;
            let shown = window * presence.clone().reshape([batch, 1, 1, 1, 1]);
            redrawn = redrawn + paste(shown, keypoints.clone(), self.geometry, height, width)?;
            glimpses.push(Glimpse {
                keypoints,
                presence,
            });
        }
        Ok(Attended {
            divergence,
            redrawn,
            glimpses,
        })
    }

    /// 1 for images whose loop goes on, else 0.
    fn running(&self, absent: &Tensor<2>) -> Tensor<2> {
        absent.clone().lower_elem(self.config.stop_at).float()
    }

    /// Where the next object is, `[batch, 1, 3]`, and its divergence, `[batch, 1]`.
    fn place(&self, hidden: Tensor<2>, noise: &mut Noise) -> Result<(Tensor<3>, Tensor<2>), Error> {
        let config = self.config;
        let [mean, log_variance] = self.networks.moments(Part::Scale, hidden.clone())?;
        let scale = sigmoid(drawn(&mean, &log_variance, noise));
        let scale_kl = gaussian_kl(mean, log_variance, config.scale_mean, config.scale_variance);
        let [mean, log_variance] = self.networks.moments(Part::Shift, hidden)?;
        let shift = tanh(drawn(&mean, &log_variance, noise));
        let shift_kl = gaussian_kl(mean, log_variance, 0.0, 1.0);
        let centre_px = (shift + 1.0) * (config.canvas_px as f64 / 2.0);
        let batch = scale.dims()[0];
        let keypoints = Tensor::cat(vec![centre_px, scale], 1).reshape([batch, 1, 3]);
        Ok((keypoints, scale_kl + shift_kl))
    }

    /// The windows at keypoints as the auto-encoder redraws them, `[batch, K, channels, side, side]`, and the codes'
    /// divergences, `[batch * K, 1]`.
    pub fn redraw(
        &self,
        images: Tensor<4>,
        keypoints: Tensor<3>,
        noise: &mut Noise,
    ) -> Result<(Tensor<5>, Tensor<2>), Error> {
        let windows = sample(images, keypoints, self.geometry)?;
        let shape = windows.dims();
        let [batch, instances, ..] = shape;
        let flat = windows.reshape([(batch * instances) as i32, -1]);
        let [mean, log_variance] = self.networks.moments(Part::Encoder, flat)?;
        let code = drawn(&mean, &log_variance, noise);
        let kl = gaussian_kl(mean, log_variance, 0.0, 1.0);
        let logits = self.networks.run(Part::Decoder, code)?;
        let spread = noise.normal(logits.dims(), &logits.device()) * self.config.redraw_deviation;
        Ok((sigmoid(logits + spread).reshape(shape), kl))
    }
}

/// A sample of a Gaussian, differentiable in its parameters.
fn drawn(mean: &Tensor<2>, log_variance: &Tensor<2>, noise: &mut Noise) -> Tensor<2> {
    let deviation = (log_variance.clone() * 0.5).exp();
    mean.clone() + deviation * noise.normal(mean.dims(), &mean.device())
}
