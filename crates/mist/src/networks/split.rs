//! A network in two parts: a 1x1 convolution, and what follows it.

use burn::tensor::Tensor;
use mist_kernels::network::{Layer, Network, NetworkError};

use super::fused::Executors;
use crate::Error;

/// The parts of a network that begins with a 1x1 convolution to fewer channels; both take their parameters from those of the
/// whole.
#[derive(Clone, Debug)]
pub(super) struct Split {
    first: Network,
    rest: Network,
    executors: [Executors; 2],
    /// Number of the convolution's weights, which are the first parameters.
    pub weights: usize,
    channels: usize,
}

impl Split {
    /// Nothing for other networks.
    pub fn new(network: &Network) -> Result<Option<Self>, NetworkError> {
        let Some((&Layer::Conv1x1 { out_channels }, rest)) = network.layers().split_first() else {
            return Ok(None);
        };
        let in_channels = network.in_channels();
        if rest.is_empty() || out_channels >= in_channels {
            return Ok(None);
        }
        Ok(Some(Self {
            first: Network::new(in_channels, vec![Layer::Conv1x1 { out_channels }])?,
            rest: Network::new(out_channels, rest.to_vec())?,
            executors: Default::default(),
            weights: in_channels * out_channels,
            channels: out_channels,
        }))
    }

    /// A bias of zeros beside parameters.
    pub fn zeros(&self, parameters: &Tensor<1>) -> Tensor<1> {
        Tensor::zeros([self.channels], &parameters.device())
    }

    /// The convolution, with parameters of its own.
    pub fn run_first(&self, maps: Tensor<4>, parameters: Tensor<1>) -> Result<Tensor<4>, Error> {
        self.executors[0].run(&self.first, maps, parameters, None)
    }

    /// The convolution's bias and what follows, with the parameters of the whole.
    pub fn run_rest(&self, maps: Tensor<4>, parameters: Tensor<1>) -> Result<Tensor<4>, Error> {
        let bias = parameters.clone().narrow(0, self.weights, self.channels);
        let maps = maps + bias.reshape([1, self.channels, 1, 1]);
        let before = self.weights + self.channels;
        let rest = parameters.narrow(0, before, self.rest.parameter_count());
        self.executors[1].run(&self.rest, maps, rest, None)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::super::{FeatureClassifier, InputStatistics, NetworkModule};
    use crate::sample::{PatchGeometry, Source};

    use super::*;

    const CLASSIFIER: FeatureClassifier = FeatureClassifier {
        in_channels: 24,
        channels: 8,
        blocks: 1,
        classes: 5,
    };

    fn wave(dims: [usize; 4], device: &Device) -> Tensor<4> {
        let length = dims.iter().product::<usize>();
        let values = (0..length)
            .map(|index| (index as f32 * 0.7).sin())
            .collect();
        Tensor::from_data(TensorData::new(values, dims), device)
    }

    /// Logits, and gradients of parameters and keypoints.
    fn results(network: &NetworkModule, split: bool) -> [Vec<f32>; 3] {
        let device = Device::flex().autodiff();
        let source = Source {
            maps: wave([2, 24, 6, 5], &device),
            stride_px: 16.0,
        };
        // The second box leaves the image.
        let keypoints = [[40.0, 44.0, 1.0], [4.0, 90.0, 1.0]];
        let keypoints = Tensor::<3>::from_data([keypoints, keypoints], &device).require_grad();
        let geometry = PatchGeometry {
            base_box_px: 48.0,
            patch_px: 4,
            context_px: 0.0,
        };
        let (seen, reader) = match split {
            true => source.for_network(network).unwrap(),
            false => (source, network.clone()),
        };
        assert_eq!(seen.maps.dims()[1], if split { 8 } else { 24 });
        let patches = seen.sample(keypoints.clone(), geometry).unwrap();
        let [_, _, channels, side, _] = patches.dims();
        let patches = patches.reshape([4, channels, side, side]);
        let logits = reader.forward(patches, InputStatistics::Running).unwrap();
        let weights = wave([4, 5, 1, 1], &device);
        let gradients = (logits.clone() * weights).sum().backward();
        let of_parameters = network.parameters.val().grad(&gradients).unwrap();
        let of_keypoints = keypoints.grad(&gradients).unwrap();
        [
            logits.inner().try_into_vec_as::<f32>().unwrap(),
            of_parameters.try_into_vec_as::<f32>().unwrap(),
            of_keypoints.try_into_vec_as::<f32>().unwrap(),
        ]
    }

    #[test]
    fn before_or_after_sampling_is_the_same_at_borders_too() {
        let device = Device::flex().autodiff();
        let network = NetworkModule::init(CLASSIFIER.network().unwrap(), 3, &device).unwrap();
        let length = network.network().parameter_count();
        // Starting biases are zero, which would hide a lost one.
        let values = wave([1, 1, 1, length], &device).reshape([length]) * 0.3;
        let network = network.with_parameters(values).unwrap();
        let whole = results(&network, false);
        let split = results(&network, true);
        for (whole, split) in whole.iter().zip(&split) {
            assert_eq!(whole.len(), split.len());
            let largest = whole
                .iter()
                .fold(0.0, |most: f32, value| most.max(value.abs()));
            assert!(largest > 0.0);
            for (a, b) in whole.iter().zip(split) {
                // Tiles of bf16 round differently on both ways.
                assert!((a - b).abs() < 0.03 * largest, "{a} {b}");
            }
        }
    }

    #[test]
    fn other_networks_are_not_split() {
        let wider = FeatureClassifier {
            in_channels: 8,
            ..CLASSIFIER
        };
        assert!(Split::new(&wider.network().unwrap()).unwrap().is_none());
    }
}
