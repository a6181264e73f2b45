//! Features with mean 0 and deviation 1 in every channel.

use burn::tensor::{Tensor, TensorData};

use safetensors::SafeTensors;

use crate::Error;
use crate::networks::{NamedTensor, finite_tensor};

const MEANS: &str = "features.means";
const DEVIATIONS: &str = "features.deviations";

/// Mean and standard deviation of each channel of a backbone's features, over the training images.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureStatistics {
    /// One per channel.
    pub means: Vec<f32>,
    /// One per channel, positive.
    pub deviations: Vec<f32>,
}

impl FeatureStatistics {
    /// Smallest deviation: channels that are always zero stay so.
    const LEAST_DEVIATION: f64 = 1e-3;

    /// Those of sums and sums of squares over so many values per channel.
    pub fn from_sums(sums: &[f64], squares: &[f64], values: u64) -> Self {
        let count = values.max(1) as f64;
        let moments = sums.iter().zip(squares).map(|(sum, square)| {
            let mean = sum / count;
            let variance = (square / count - mean * mean).max(0.0);
            (
                mean as f32,
                variance.sqrt().max(Self::LEAST_DEVIATION) as f32,
            )
        });
        let (means, deviations) = moments.unzip();
        Self { means, deviations }
    }

    /// Those of a backbone whose features stay as they are.
    pub fn identity(channels: usize) -> Self {
        Self {
            means: vec![0.0; channels],
            deviations: vec![1.0; channels],
        }
    }

    /// As tensors of a model's file.
    pub(crate) fn named_tensors(&self) -> Vec<(String, NamedTensor)> {
        [(MEANS, &self.means), (DEVIATIONS, &self.deviations)]
            .map(|(name, values)| (name.to_owned(), NamedTensor::vector(values)))
            .into()
    }

    /// Reads what [`FeatureStatistics::named_tensors`] gave; returns the names too.
    pub(crate) fn from_named(
        file: &SafeTensors,
        channels: usize,
    ) -> Result<(Self, [String; 2]), Error> {
        let read = |name| finite_tensor(file, name, &[channels]);
        let (means, deviations) = (read(MEANS)?, read(DEVIATIONS)?);
        if deviations.iter().any(|deviation| *deviation <= 0.0) {
            let name = DEVIATIONS.to_owned();
            return Err(Error::NonFiniteTensor { name });
        }
        let statistics = Self { means, deviations };
        Ok((statistics, [MEANS, DEVIATIONS].map(str::to_owned)))
    }

    /// `(features - mean) / deviation`.
    ///
    /// # Shapes
    /// - `features` and output: `[batch, channels, height, width]`
    ///
    /// # Errors
    /// When the channels differ.
    pub fn standardise(&self, features: Tensor<4>) -> Result<Tensor<4>, Error> {
        let [_, channels, ..] = features.dims();
        if channels != self.means.len() {
            return Err(Error::Mismatch {
                what: "channels of the features",
                expected: vec![self.means.len()],
                actual: vec![channels],
            });
        }
        let device = features.device();
        let tensor = |values: &[f32]| {
            let data = TensorData::new(values.to_vec(), [1, channels, 1, 1]);
            Tensor::<4>::from_data(data, &device)
        };
        Ok((features - tensor(&self.means)) / tensor(&self.deviations))
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn features_get_mean_zero_and_deviation_one() {
        let features = [[[[1.0, 3.0]], [[5.0, 5.0]]]];
        let statistics = FeatureStatistics::from_sums(&[4.0, 10.0], &[10.0, 50.0], 2);
        let features = Tensor::<4>::from_data(features, &Device::flex());
        let found = statistics.standardise(features).unwrap();
        assert_eq!(
            found.try_into_vec_as::<f32>().unwrap(),
            [-1.0, 1.0, 0.0, 0.0]
        );
        let three = Tensor::<4>::zeros([1, 3, 1, 1], &Device::flex());
        assert!(statistics.standardise(three).is_err());
    }
}
