//! H, of either kind, behind one interface.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::{CoarseHeatmap, LocalSoftmax, MultiScale, ScaleLevels};
use crate::Error;
use crate::extract::{Extractor, ScoredKeypoint};
use crate::geometry::Keypoint;
use crate::loss::heatmap_loss;
use crate::networks::{InputStatistics, NetworkModule};
use crate::splat::{GaussianTarget, splat};

/// H: a network, and what its output means.
///
/// Each kind has its own response, extraction, target and loss.
#[derive(Module, Debug)]
pub struct HeatmapNetwork {
    /// The convolutional network that scores each pixel or cell.
    pub detector: NetworkModule,
    #[module(skip)]
    kind: HeatmapKind,
}

/// The two kinds of heatmap networks of appendix A.
#[derive(Clone, Debug)]
pub enum HeatmapKind {
    /// Standard: one response per pixel and scale.
    MultiScale(MultiScale),
    /// On a backbone's features: response and offsets per cell.
    Coarse(CoarseHeatmap),
}

/// The ideal heatmap G of keypoints, for either kind.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one per step")]
pub enum HeatmapTarget {
    /// `[batch, scales, height, width]`
    MultiScale(Tensor<4>),
    /// Response, offsets and where these count.
    Coarse(GaussianTarget),
}

impl HeatmapTarget {
    /// What the response should be, `[batch, scales, height, width]`.
    pub fn response(&self) -> Tensor<4> {
        match self {
            Self::MultiScale(maps) => maps.clone(),
            Self::Coarse(target) => target.response.clone(),
        }
    }
}

/// The detector's loss per image, `[batch]` each.
#[derive(Clone, Debug)]
pub struct HeatmapLosses {
    /// Sum of the responses' squared errors.
    pub response: Tensor<1>,
    /// Loss of the offsets, weighted; nothing where there are none.
    pub offsets: Option<Tensor<1>>,
}

impl HeatmapNetwork {
    /// A multi-scale heatmap network around a detector.
    pub fn new(detector: NetworkModule, levels: ScaleLevels, softmax: LocalSoftmax) -> Self {
        let kind = HeatmapKind::MultiScale(MultiScale::new(levels, softmax));
        Self { detector, kind }
    }

    /// A heatmap network of either kind.
    ///
    /// # Errors
    /// When the detector of a coarse heatmap has not three output channels; a multi-scale one is checked when it runs.
    pub fn of_kind(detector: NetworkModule, kind: HeatmapKind) -> Result<Self, Error> {
        let channels = detector.network().out_channels();
        if matches!(kind, HeatmapKind::Coarse(_)) && channels != 3 {
            return Err(Error::Mismatch {
                what: "output channels of the detector",
                expected: vec![3],
                actual: vec![channels],
            });
        }
        Ok(Self { detector, kind })
    }

    /// The same with a detector whose gradients are not wanted.
    pub fn frozen(&self) -> Self {
        Self {
            detector: self.detector.frozen(),
            ..self.clone()
        }
    }

    /// The scales of boxes.
    pub fn levels(&self) -> &ScaleLevels {
        match &self.kind {
            HeatmapKind::MultiScale(kind) => kind.levels(),
            HeatmapKind::Coarse(kind) => kind.levels(),
        }
    }

    /// The maps that keypoints are extracted from.
    ///
    /// # Shapes
    /// - input: `[batch, channels, height, width]`: images, or a backbone's features
    /// - output: `[batch, scales, height, width]`, not negative, the responses `h'_s` whose sum over s is the paper's fused
    ///   heatmap; or `[batch, 3, height, width]`: response, x-offset, y-offset
    ///
    /// # Errors
    /// When the input is too small for the detector.
    pub fn forward(
        &self,
        maps: Tensor<4>,
        statistics: InputStatistics,
    ) -> Result<Tensor<4>, Error> {
        match &self.kind {
            HeatmapKind::MultiScale(kind) => kind.forward(&self.detector, maps, statistics),
            HeatmapKind::Coarse(kind) => {
                let found = self.detector.forward(maps, statistics)?;
                Ok(kind.limited(found))
            }
        }
    }

    /// `E_K` of what [`HeatmapNetwork::forward`] gave, strongest first.
    ///
    /// # Errors
    /// As [`Extractor::extract`].
    pub fn extract(
        &self,
        extractor: &Extractor,
        heatmaps: Tensor<4>,
    ) -> Result<Vec<Vec<ScoredKeypoint>>, Error> {
        match &self.kind {
            HeatmapKind::MultiScale(kind) => extractor.extract(heatmaps, kind.levels()),
            HeatmapKind::Coarse(kind) => extractor.extract_with_offsets(heatmaps, kind.stride_px()),
        }
    }

    /// The responses alone, summed over scales: `[batch, 1, height, width]`, not negative.
    pub fn response(&self, heatmaps: Tensor<4>) -> Tensor<4> {
        match &self.kind {
            HeatmapKind::MultiScale(_) => heatmaps.sum_dim(1),
            HeatmapKind::Coarse(_) => heatmaps.narrow(1, 0, 1).clamp_min(0.0),
        }
    }

    /// G of keypoints, as large as a heatmap; weights count for coarse heatmaps alone.
    ///
    /// # Errors
    /// When the size is empty or a keypoint is not finite.
    pub fn target(
        &self,
        keypoints: &[Vec<Keypoint>],
        weights: Option<&[Vec<f32>]>,
        size: [usize; 2],
        device: &Device,
    ) -> Result<HeatmapTarget, Error> {
        match &self.kind {
            HeatmapKind::MultiScale(kind) => {
                let [height, width] = size;
                let maps = splat(keypoints, kind.levels(), height, width, device)?;
                Ok(HeatmapTarget::MultiScale(maps))
            }
            HeatmapKind::Coarse(kind) => {
                let target = kind.target(keypoints, weights, size, device)?;
                Ok(HeatmapTarget::Coarse(target))
            }
        }
    }

    /// The loss of heatmaps beside their target.
    ///
    /// # Errors
    /// When the target is of the other kind, or the shapes differ.
    pub fn losses(
        &self,
        heatmaps: Tensor<4>,
        target: HeatmapTarget,
        window_px: usize,
    ) -> Result<HeatmapLosses, Error> {
        match (&self.kind, target) {
            (HeatmapKind::MultiScale(_), HeatmapTarget::MultiScale(target)) => Ok(HeatmapLosses {
                response: heatmap_loss(heatmaps, target, window_px)?,
                offsets: None,
            }),
            (HeatmapKind::Coarse(kind), HeatmapTarget::Coarse(target)) => {
                let (response, offsets) = kind.losses(heatmaps, target)?;
                Ok(HeatmapLosses {
                    response,
                    offsets: Some(offsets),
                })
            }
            (_, target) => Err(Error::Mismatch {
                what: "heatmap and target of different kinds",
                expected: heatmaps.dims().to_vec(),
                actual: target.response().dims().to_vec(),
            }),
        }
    }
}
