//! The multi-scale heatmap network (paper, appendix A, "Standard architecture").

use burn::module::Module;
use burn::tensor::Tensor;

use super::{LocalSoftmax, ScaleLevels, resize, scale_fusion};
use crate::Error;
use crate::networks::{InputStatistics, NetworkModule};

/// H: one detector, run on the image resized by the inverse of each scale.
///
/// Sharing the detector keeps it from favouring a scale. With a single level there is nothing to fuse and the
/// sharpened heatmap itself is returned.
#[derive(Module, Debug)]
pub struct HeatmapNetwork {
    /// The convolutional network that scores each pixel.
    pub detector: NetworkModule,
    #[module(skip)]
    levels: ScaleLevels,
    #[module(skip)]
    softmax: LocalSoftmax,
}

impl HeatmapNetwork {
    /// A heatmap network around a detector.
    pub fn new(detector: NetworkModule, levels: ScaleLevels, softmax: LocalSoftmax) -> Self {
        Self {
            detector,
            levels,
            softmax,
        }
    }

    /// The same with a detector whose gradients are not wanted.
    pub fn frozen(&self) -> Self {
        Self {
            detector: self.detector.frozen(),
            ..self.clone()
        }
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
    pub fn forward(
        &self,
        images: Tensor<4>,
        statistics: InputStatistics,
    ) -> Result<Tensor<4>, Error> {
        let channels = self.detector.network().out_channels();
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
                let scores = self.detector.forward(image, statistics)?;
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
