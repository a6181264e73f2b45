//! The heatmap network H (paper, section 4.1 and appendix A).
//!
//! One network scores the image at several sizes; the scores are sharpened by a local softmax and
//! related across scales.

mod coarse;
mod local_softmax;
mod multi_scale;
mod network;
mod resize;
mod scale_fusion;
mod scale_levels;

pub use coarse::CoarseHeatmap;
pub(crate) use local_softmax::window_sum;
pub use local_softmax::{LocalSoftmax, WindowBorder, WindowShift};
pub use multi_scale::MultiScale;
pub(crate) use multi_scale::scaled;
pub use network::{HeatmapKind, HeatmapLosses, HeatmapNetwork, HeatmapTarget};
pub use resize::resize;
pub use scale_fusion::scale_fusion;
pub use scale_levels::ScaleLevels;
