//! The symmetries of a square, under which a detector sees images.

use burn::tensor::Tensor;
use rand::RngExt;

use super::{CentringConfig, Moment};

/// Mirrors along one axis or both, after the axes changed places or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::lifted) struct Symmetry {
    transposed: bool,
    mirrored_y: bool,
    mirrored_x: bool,
}

impl CentringConfig {
    /// How the detector sees the images of a step: as they are, unless it learns.
    pub(in crate::lifted) fn symmetry(&self, moment: Moment) -> Symmetry {
        if !self.symmetries || moment.released_at.is_none() || moment.is_settled() {
            return Symmetry::default();
        }
        let mut random = moment.random_symmetry();
        Symmetry {
            transposed: random.random(),
            mirrored_y: random.random(),
            mirrored_x: random.random(),
        }
    }
}

impl Symmetry {
    /// Maps `[batch, channels, height, width]` as the detector sees them.
    pub fn apply(self, maps: Tensor<4>) -> Tensor<4> {
        let transposed = match self.transposed {
            true => maps.swap_dims(2, 3),
            false => maps,
        };
        self.mirrored(transposed)
    }

    /// The way back.
    pub fn undo(self, maps: Tensor<4>) -> Tensor<4> {
        let mirrored = self.mirrored(maps);
        match self.transposed {
            true => mirrored.swap_dims(2, 3),
            false => mirrored,
        }
    }

    fn mirrored(self, maps: Tensor<4>) -> Tensor<4> {
        match (self.mirrored_y, self.mirrored_x) {
            (false, false) => maps,
            (true, false) => maps.flip([2]),
            (false, true) => maps.flip([3]),
            (true, true) => maps.flip([2, 3]),
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Int};

    use super::*;
    use crate::training::Progress;

    fn moment(step: u64, released_at: Option<u64>) -> Moment {
        Moment {
            seed: 1,
            progress: Progress { step, steps: 1000 },
            released_at,
            search_frac: 0.5,
        }
    }

    #[test]
    fn every_symmetry_comes_and_goes_back_to_the_bit() {
        let centring = CentringConfig {
            symmetries: true,
            ..CentringConfig::default()
        };
        let maps = Tensor::<1, Int>::arange(0..24, &Device::flex()).float();
        let maps = maps.reshape([2, 1, 3, 4]);
        let values = |maps: Tensor<4>| maps.try_into_vec_as::<f32>().unwrap();
        let mut seen = Vec::new();
        for step in 0..100 {
            let symmetry = centring.symmetry(moment(step, Some(0)));
            let there = symmetry.apply(maps.clone());
            assert_eq!(values(symmetry.undo(there.clone())), values(maps.clone()));
            seen.push(values(there));
        }
        seen.sort_by(|a, b| a.partial_cmp(b).unwrap());
        seen.dedup();
        assert_eq!(seen.len(), 8);
        for at_rest in [moment(3, None), moment(600, Some(0))] {
            assert_eq!(centring.symmetry(at_rest), Symmetry::default());
        }
    }
}
