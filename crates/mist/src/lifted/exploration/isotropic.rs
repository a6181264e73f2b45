//! Starting weights that know no direction.

use mist_kernels::network::Network;

/// Of a 3 x 3 kernel, row by row: which value each one repeats, so that mirroring and quarter turns change nothing.
const ORBITS: [usize; 9] = [0, 1, 0, 1, 4, 1, 0, 1, 0];

/// Makes every 3 x 3 kernel in a network's flat parameters the same under all symmetries of the square.
pub(super) fn make_isotropic(network: &Network, parameters: &mut [f32]) {
    for spec in network.parameters() {
        let [.., 3, 3] = spec.shape[..] else {
            continue;
        };
        let Some(values) = parameters.get_mut(spec.offset..spec.offset + spec.len()) else {
            continue;
        };
        for kernel in values.chunks_exact_mut(9) {
            for (place, &repeated) in ORBITS.iter().enumerate() {
                kernel[place] = kernel[repeated];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Tensor};

    use super::*;
    use crate::networks::{DetectorConfig, InputStatistics, NetworkModule};

    #[test]
    fn a_mirrored_image_has_the_mirrored_map() {
        let network = DetectorConfig::default().network().unwrap();
        let device = Device::flex();
        let module = NetworkModule::init(network.clone(), 3, &device).unwrap();
        let mut parameters = module.parameter_values().unwrap();
        make_isotropic(&network, &mut parameters);
        let module = NetworkModule::from_parameters(network, parameters, &device).unwrap();
        let mut pixels = vec![0.0; 30 * 30];
        for (index, pixel) in pixels.iter_mut().enumerate() {
            *pixel = (index * index % 17) as f32 / 17.0;
        }
        let image = Tensor::<1>::from_floats(&pixels[..], &device).reshape([1, 1, 30, 30]);
        let map = |image| module.forward(image, InputStatistics::Running).unwrap();
        let mirrored = map(image.clone().flip([3]));
        let difference = (map(image).flip([3]) - mirrored).abs().max().into_scalar();
        assert!(difference < 1e-4, "{difference}");
    }
}
