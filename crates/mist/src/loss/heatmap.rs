//! The detector's loss.

use burn::tensor::Tensor;

use super::squared_distance;
use crate::Error;
use crate::heatmap::window_sum;
use crate::settings::Bounds;

const WIDEST_PX: usize = 99;

/// `|| G({x_k}) - H(I) ||^2` per image (paper, equation of the detector stage).
///
/// With a window larger than 1 px both are first summed over it and divided by its side, which leaves the norm of a
/// lone maximum as it is. A response near the target then counts for something, and a detector that is sure of an
/// object but not of its pixel learns to respond.
///
/// # Shapes
/// - `heatmaps`, `targets`: `[batch, scales, height, width]`
/// - output: `[batch]`
///
/// # Errors
/// When the shapes differ, or the window is even or too wide.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// use mist::loss::heatmap_loss;
///
/// let device = Device::flex();
/// let heatmap = Tensor::<4>::from_data([[[[0.0, 1.0, 0.0]]]], &device);
/// let target = Tensor::<4>::from_data([[[[1.0, 0.0, 0.0]]]], &device);
/// assert_eq!(heatmap_loss(heatmap, target, 1)?.into_scalar::<f32>(), 2.0);
/// # Ok::<(), mist::Error>(())
/// ```
pub fn heatmap_loss(
    heatmaps: Tensor<4>,
    targets: Tensor<4>,
    window_px: usize,
) -> Result<Tensor<1>, Error> {
    check_window(window_px)?;
    let smooth = |maps: Tensor<4>| match window_px {
        1 => maps,
        _ => window_sum(maps, window_px) / window_px as f64,
    };
    squared_distance("heatmap targets", smooth(heatmaps), smooth(targets))
}

/// Refuses windows without a pixel at their centre, and those that no object is small enough for.
pub(crate) fn check_window(window_px: usize) -> Result<(), Error> {
    Bounds::new("heatmap.window_px", 1, WIDEST_PX).check_odd(window_px)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;

    fn map(maxima: &[(usize, usize)]) -> Tensor<4> {
        let mut map = vec![0.0f32; 15 * 15];
        for (x, y) in maxima {
            map[y * 15 + x] = 1.0;
        }
        Tensor::from_data(TensorData::new(map, [1, 1, 15, 15]), &Device::flex())
    }

    fn loss(found: &[(usize, usize)], window_px: usize) -> f32 {
        let loss = heatmap_loss(map(found), map(&[(7, 7)]), window_px);
        loss.unwrap().into_scalar()
    }

    #[test]
    fn a_window_forgives_small_distances_and_nothing_else() {
        let (nothing, near, far) = (&[][..], &[(8, 7)][..], &[(13, 7)][..]);
        assert_eq!(
            [nothing, near, far].map(|found| loss(found, 1)),
            [1.0, 2.0, 2.0]
        );
        let smooth = [nothing, near, far].map(|found| loss(found, 5));
        assert!((smooth[0] - 1.0).abs() < 1e-5, "{smooth:?}");
        assert!((smooth[1] - 0.4).abs() < 1e-5, "{smooth:?}");
        assert!(smooth[2] > 1.7, "{smooth:?}");
        for window_px in [0, 4, 101, usize::MAX] {
            assert!(heatmap_loss(map(near), map(far), window_px).is_err());
        }
    }
}
