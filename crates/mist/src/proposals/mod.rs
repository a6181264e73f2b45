//! Hand-made proposals: keypoints computed from the image alone, before any network has learnt anything.
//!
//! Not part of the paper, whose keypoints start from `E_K(H(I))`. Where objects stand out of their background, proposals
//! start a training sooner.

mod contrast;
mod cover;
mod discs;
mod distance;
mod plane;

pub use cover::cover;
pub use discs::Discs;

pub(crate) use discs::Objects;
pub(crate) use plane::Plane;

use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use contrast::contrast_maps;

use crate::Error;
use crate::extract::{Extractor, ScoredKeypoint, without_scores};
use crate::geometry::Keypoint;
use crate::heatmap::ScaleLevels;
use crate::model::ModelConfig;

/// How proposals are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proposals {
    /// Boxes that hold much contrast and are surrounded by little: [`cover`].
    #[default]
    Cover,
    /// Local maxima of contrast: [`peaks`].
    Peaks,
}

impl Proposals {
    /// K keypoints of each image.
    ///
    /// # Shapes
    /// - `images`: `[batch, channels, height, width]`
    ///
    /// # Errors
    /// When there are more keypoints than pixels, or the device cannot be read.
    pub fn keypoints(
        self,
        images: Tensor<4>,
        config: &ModelConfig,
    ) -> Result<Vec<Vec<Keypoint>>, Error> {
        let extractor = &config.extractor;
        match self {
            Self::Cover => {
                let box_px = config.geometry.base_box_px;
                cover(images, extractor.instances, box_px, &config.scales)
            }
            Self::Peaks => Ok(without_scores(peaks(images, extractor)?)),
        }
    }
}

/// E_K of the image's own contrast, its squared difference to the median, for objects that overlap too much for
/// [`cover`].
///
/// # Shapes
/// - `images`: `[batch, channels, height, width]`
///
/// # Errors
/// As [`Extractor::extract`].
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// use mist::extract::Extractor;
/// use mist::proposals::peaks;
///
/// let image = Tensor::<4>::from_data([[[[0.5, 0.5, 0.9, 0.5, 0.5, 0.5, 0.2]]]], &Device::flex());
/// let found = peaks(image, &Extractor::new(1))?;
/// assert_eq!(found[0][0].keypoint.x_px, 2.5);
/// # Ok::<(), mist::Error>(())
/// ```
pub fn peaks(images: Tensor<4>, extractor: &Extractor) -> Result<Vec<Vec<ScoredKeypoint>>, Error> {
    let [batch, _, height, width] = images.dims();
    let device = images.device();
    let data = TensorData::new(contrast_maps(images)?.concat(), [batch, 1, height, width]);
    extractor.extract(Tensor::from_data(data, &device), &ScaleLevels::single())
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn peaks_are_where_an_image_differs_most_from_its_median() {
        let (width, height) = (30, 20);
        let blob = |index: usize, x: f32, y: f32| {
            let (dx, dy) = ((index % width) as f32 - x, (index / width) as f32 - y);
            (-(dx * dx + dy * dy) / 4.0).exp()
        };
        let pixel = |index| 0.5 + 0.4 * blob(index, 6.0, 5.0) - 0.3 * blob(index, 21.0, 13.0);
        let pixels: Vec<f32> = (0..width * height).map(pixel).collect();
        let data = TensorData::new(pixels, [1, 1, height, width]);
        let images = Tensor::from_data(data, &Device::flex());
        let found = peaks(images, &Extractor::new(2)).unwrap();
        let places: Vec<_> = found[0]
            .iter()
            .map(|p| (p.keypoint.x_px, p.keypoint.y_px))
            .collect();
        assert_eq!(places, [(6.5, 5.5), (21.5, 13.5)]);
    }
}
