//! Patches that fade out towards their edges.

use burn::tensor::{Tensor, TensorData};

use super::PatchGeometry;

impl PatchGeometry {
    /// Patches with the border of [`PatchGeometry::fade_px`] faded out.
    ///
    /// # Shapes
    /// - `patches` and output: `[batch, K, channels, patch_px, patch_px]`
    pub(super) fn faded(&self, patches: Tensor<5>) -> Tensor<5> {
        if self.fade_px == 0.0 {
            return patches;
        }
        let side = self.patch_px;
        let weights: Vec<f32> = (0..side).map(|index| self.weight(index)).collect();
        let window = (0..side * side).map(|index| weights[index / side] * weights[index % side]);
        let data = TensorData::new(window.collect::<Vec<f32>>(), [1, 1, 1, side, side]);
        let window = Tensor::from_data(data, (&patches.device(), patches.dtype()));
        patches * window
    }

    /// How much of a row or column is seen: a quarter of a cosine wave, squared, over the border (Tukey's window).
    fn weight(&self, index: usize) -> f32 {
        let pixel_px = self.shown_px() / self.patch_px as f32;
        let from_edge = index.min(self.patch_px - 1 - index) as f32 + 0.5;
        let share = (from_edge * pixel_px / self.fade_px).min(1.0);
        (share * std::f32::consts::FRAC_PI_2).sin().powi(2)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn the_border_fades_and_the_middle_stays() {
        let geometry = PatchGeometry {
            base_box_px: 8.0,
            patch_px: 8,
            context_px: 0.0,
            fade_px: 2.0,
        };
        let ones = Tensor::<5>::ones([1, 2, 1, 8, 8], &Device::flex());
        let seen = geometry.faded(ones.clone()).try_into_vec_as::<f32>();
        let seen = seen.unwrap();
        let row = &seen[3 * 8..4 * 8];
        let edge = |px: f32| (px / 2.0 * std::f32::consts::FRAC_PI_2).sin().powi(2);
        let expected = [
            edge(0.5),
            edge(1.5),
            1.0,
            1.0,
            1.0,
            1.0,
            edge(1.5),
            edge(0.5),
        ];
        for (seen, expected) in row.iter().zip(expected) {
            assert!((seen - expected).abs() < 1e-6);
        }
        assert!((seen[64] - edge(0.5).powi(2)).abs() < 1e-6);
        let whole = PatchGeometry {
            fade_px: 0.0,
            ..geometry
        };
        let seen = whole.faded(ones).try_into_vec_as::<f32>().unwrap();
        assert!(seen.iter().all(|&value| value == 1.0));
    }
}
