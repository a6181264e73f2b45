//! The recurrent network, its heads and the variational auto-encoder.

use burn::tensor::activation::{sigmoid, tanh};
use burn::tensor::{Device, Tensor};
use mist_kernels::network::{Layer, Network, NetworkError};

use super::Esl16Config;
use crate::Error;
use crate::baselines::named_networks::{NamedNetworks, TrainedNetworks};
use crate::model::ModelConfig;
use crate::networks::InputStatistics;
use crate::training::Setup;

/// Units of the auto-encoder's hidden layers, from the image to the code.
const HIDDEN_UNITS: [usize; 2] = [512, 256];

/// The networks by place in [`Networks::NAMES`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// Image to gates.
    LstmInput,
    /// Hidden state to gates.
    LstmHidden,
    /// Hidden state to mean and log-variance of the scale.
    Scale,
    /// Hidden state to means and log-variances of the shift in x and y.
    Shift,
    /// Hidden state to log-odds of one more object.
    Presence,
    /// Window to means and log-variances of the code.
    Encoder,
    /// Code to window.
    Decoder,
}

/// All weights of the method.
#[derive(Clone, Debug)]
pub(super) struct Networks(pub NamedNetworks);

impl Networks {
    pub const NAMES: &'static [&'static str] = &[
        "lstm_input",
        "lstm_hidden",
        "scale",
        "shift",
        "presence",
        "encoder",
        "decoder",
    ];

    /// Those of trained weights.
    pub fn from_safetensors(
        config: &Esl16Config,
        model: &ModelConfig,
        bytes: &[u8],
        device: &Device,
    ) -> Result<Self, Error> {
        let networks = descriptions(config, model)?;
        let named = NamedNetworks::from_safetensors(Self::NAMES, networks, bytes, device)?;
        Ok(Self(named))
    }

    /// Fresh ones for a training.
    pub fn under_training(
        config: &Esl16Config,
        setup: Setup<'_>,
    ) -> Result<TrainedNetworks, Error> {
        let networks = descriptions(config, setup.model)?;
        TrainedNetworks::new(Self::NAMES, networks, setup)
    }

    /// Runs one network on rows of features, `[batch, in]` to `[batch, out]`.
    pub fn run(&self, part: Part, features: Tensor<2>) -> Result<Tensor<2>, Error> {
        let [batch, count] = features.dims();
        let pixel = features.reshape([batch, count, 1, 1]);
        let output = self
            .0
            .module(part as usize)
            .forward(pixel, InputStatistics::Running)?;
        Ok(output.flatten(1, 3))
    }

    /// The same, whose output is halved into means and log-variances.
    pub fn moments(&self, part: Part, features: Tensor<2>) -> Result<[Tensor<2>; 2], Error> {
        let output = self.run(part, features)?;
        let half = output.dims()[1] / 2;
        Ok([0, half].map(|start| output.clone().narrow(1, start, half)))
    }
}

/// One step of a long short-term memory, from its gates (input, forget, candidate, output, as in PyTorch) and its cell.
///
/// # Shapes
/// - `gates`: `[batch, 4 * units]`
/// - `cell`: `[batch, units]`
/// - output: the hidden state and the new cell, `[batch, units]` each
pub fn lstm_cell(gates: Tensor<2>, cell: Tensor<2>) -> (Tensor<2>, Tensor<2>) {
    let units = cell.dims()[1];
    let gate = |place: usize| gates.clone().narrow(1, place * units, units);
    let kept = sigmoid(gate(1)) * cell;
    let cell = kept + sigmoid(gate(0)) * tanh(gate(2));
    (sigmoid(gate(3)) * tanh(cell.clone()), cell)
}

/// In the order of [`Networks::NAMES`].
fn descriptions(config: &Esl16Config, model: &ModelConfig) -> Result<Vec<Network>, NetworkError> {
    let channels = model.image_channels();
    let pixels = channels * config.canvas_px * config.canvas_px;
    let window = channels * model.geometry.patch_px * model.geometry.patch_px;
    let (units, gates) = (config.lstm_units, 4 * config.lstm_units);
    let dense = |out_features| Layer::Dense { out_features };
    let head = |out| {
        let layers = vec![dense(config.head_units), Layer::Relu, dense(out)];
        Network::new(units, layers)
    };
    let smooth = |from, through: [usize; 2], to| {
        let mut layers = Vec::new();
        for units in through {
            layers.extend([dense(units), Layer::Softplus]);
        }
        layers.push(dense(to));
        Network::new(from, layers)
    };
    let [first, second] = HIDDEN_UNITS;
    Ok(vec![
        Network::new(pixels, vec![dense(gates)])?,
        Network::new(units, vec![dense(gates)])?,
        head(2)?,
        head(4)?,
        head(1)?,
        smooth(window, [first, second], 2 * config.code_units)?,
        smooth(config.code_units, [second, first], window)?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TaskNetwork;
    use crate::networks::{EncoderConfig, PatchValues};

    #[test]
    fn sizes_are_those_of_the_paper() {
        let mut model = ModelConfig::paper(TaskNetwork::Autoencoder {
            encoder: EncoderConfig::default(),
            values: PatchValues::Unit,
        });
        model.geometry.patch_px = 28;
        let networks = descriptions(&Esl16Config::default(), &model).unwrap();
        let counts: Vec<usize> = networks.iter().map(Network::parameter_count).collect();
        let dense = |from: usize, to: usize| (from + 1) * to;
        assert_eq!(
            counts,
            [
                dense(6400, 1024),
                dense(256, 1024),
                dense(256, 64) + dense(64, 2),
                dense(256, 64) + dense(64, 4),
                dense(256, 64) + dense(64, 1),
                dense(784, 512) + dense(512, 256) + dense(256, 100),
                dense(50, 256) + dense(256, 512) + dense(512, 784),
            ]
        );
    }
}
