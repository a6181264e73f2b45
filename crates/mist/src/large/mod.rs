//! Images too large for the networks' memory, searched through windows.
//!
//! The detector's maps take hundreds of bytes per pixel, the scores that it leaves four. So the detector sees the image
//! through overlapping windows, with the norms' statistics of the whole image, and each window keeps the scores of the
//! part that it owns. The heatmap is made of them in the same way, and E_K reads it as a whole: nothing is found twice
//! or lost at a seam.

mod heat;
mod patches;
mod scores;
mod view;
mod windows;

pub use view::ImageView;

use crate::Error;
use crate::extract::{ScoredKeypoint, Selection};
use crate::model::Model;

/// How a large image is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LargeSearch {
    /// Side of a window.
    pub window_px: usize,
    /// Most pixels over which statistics of norms are gathered; of larger images, windows that are spread evenly stand
    /// for all.
    pub statistics_px: usize,
}

impl Default for LargeSearch {
    /// Windows of 512 px; statistics of the whole image up to 16 megapixels.
    fn default() -> Self {
        Self {
            window_px: 512,
            statistics_px: 1 << 24,
        }
    }
}

impl LargeSearch {
    /// The smallest side of a window.
    pub const MIN_WINDOW_PX: usize = 64;
    /// What a pixel of a window needs while a detector of 32 channels runs, in bytes, generously.
    const WINDOW_PX_BYTES: u64 = 700;
    /// Most pixels of the windows that are searched at once.
    const BATCH_PX: usize = 1 << 20;

    /// Memory that a search takes beside the image, in bytes: maps of four bytes per pixel (scores of each level,
    /// responses, scales, and those that maxima are found with), and the windows.
    pub fn memory_bytes(&self, model: &Model, width_px: usize, height_px: usize) -> u64 {
        let area = (width_px * height_px) as u64;
        let levels = model.heatmap.levels().values();
        let scores: f64 = levels.iter().map(|&s| 1.0 / f64::from(s * s)).sum();
        let scales = if levels.len() > 1 { 4 } else { 0 };
        let maps = (4.0 * scores).max(9.0) as u64 + 4 + scales;
        area * maps + Self::WINDOW_PX_BYTES * Self::BATCH_PX as u64
    }

    pub(crate) fn locate(
        &self,
        model: &Model,
        image: ImageView<'_>,
        selection: Selection,
    ) -> Result<Vec<ScoredKeypoint>, Error> {
        let scores = self.scores(model, image)?;
        let heat = self.heat(model, &scores, image, heat::Sum::MassWindow)?;
        drop(scores);
        let picked = model
            .config()
            .extractor
            .select(&heat.responses, image.width_px, selection)?;
        Ok(picked
            .into_iter()
            .map(|index| heat.keypoint(index, image.width_px))
            .collect())
    }
}
