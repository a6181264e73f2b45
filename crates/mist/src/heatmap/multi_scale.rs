//! The multi-scale heatmap network (paper, appendix A, "Standard architecture").

use burn::tensor::Tensor;

use super::{LocalSoftmax, ScaleLevels, resize, scale_fusion};
use crate::Error;
use crate::networks::{InputStatistics, NetworkModule};

/// One detector, run on the image resized by the inverse of each scale.
///
/// Sharing the detector keeps it from favouring a scale. With a single level there is nothing to fuse and the
/// sharpened heatmap itself is returned.
#[derive(Clone, Debug)]
pub struct MultiScale {
    levels: ScaleLevels,
    softmax: LocalSoftmax,
}

impl MultiScale {
    /// So many scales, sharpened by a softmax.
    pub fn new(levels: ScaleLevels, softmax: LocalSoftmax) -> Self {
        Self { levels, softmax }
    }

    /// The scales, one per channel of the heatmap.
    pub fn levels(&self) -> &ScaleLevels {
        &self.levels
    }

    /// The responses `h'_s` whose sum over s is the paper's fused heatmap.
    ///
    /// # Shapes
    /// - input: `[batch, channels, height, width]`
    /// - output: `[batch, scales, height, width]`, not negative
    ///
    /// # Errors
    /// When the detector has several output channels, or the image is too small for it.
    pub(super) fn forward(
        &self,
        detector: &NetworkModule,
        images: Tensor<4>,
        statistics: InputStatistics,
    ) -> Result<Tensor<4>, Error> {
        let channels = detector.network().out_channels();
        if channels != 1 {
            return Err(Error::Mismatch {
                what: "output channels of the detector",
                expected: vec![1],
                actual: vec![channels],
            });
        }
        let [_, _, height, width] = images.dims();
        let scores = self
            .levels
            .values()
            .iter()
            .map(|&scale| {
                let (small_height, small_width) = (scaled(height, scale), scaled(width, scale));
                let image = resize(images.clone(), small_height, small_width)?;
                let scores = detector.forward(image, statistics)?;
                resize(scores, height, width)
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let sharpened = self.softmax.forward(Tensor::cat(scores, 1))?;
        Ok(if self.levels.values().len() == 1 {
            sharpened
        } else {
            scale_fusion(sharpened)
        })
    }
}

/// A side of the image seen at a scale: objects `scale` times the base size shrink to the base size.
pub(crate) fn scaled(side_px: usize, scale: f32) -> usize {
    ((side_px as f64 / f64::from(scale)).round() as usize).max(1)
}
