//! Images that are searched through windows.

use mist::large::{ImageView, LargeSearch};
use mist_data::Image;

use super::stream::Search;
use crate::batches::in_channels;
use crate::error::{Error, Result};
use crate::run::memory;
use mist::geometry::Detection;

const MEGABYTE: f64 = 1024.0 * 1024.0;
/// Whole images of as many windows take no more memory than windows do.
const WINDOWS_OF_A_WHOLE: usize = 4;

/// The search of large images by tiles of a side.
///
/// # Errors
/// When the side is too small.
pub(super) fn search_by(tile_px: usize) -> Result<LargeSearch> {
    if tile_px < LargeSearch::MIN_WINDOW_PX {
        let least = LargeSearch::MIN_WINDOW_PX;
        return Err(Error::Usage(format!(
            "tiles must have sides of at least {least} px, not {tile_px}"
        )));
    }
    Ok(LargeSearch {
        window_px: tile_px,
        ..LargeSearch::default()
    })
}

impl Search<'_> {
    /// Whether an image is searched through windows.
    pub(super) fn is_large(&self, image: &Image) -> bool {
        let most_px = WINDOWS_OF_A_WHOLE * self.large.window_px.pow(2);
        image.width_px * image.height_px > most_px
    }

    /// What is found in a large image; `None` where the model sees images as a whole only.
    pub(super) fn find_large(&self, image: &Image) -> Result<Option<Vec<Detection>>> {
        self.check_memory(image)?;
        let seen = self.seen(image);
        let pixels = in_channels(&seen, self.finder.channels());
        let view = self.view(image, &pixels);
        Ok(self.finder.find_large(view, self.selection, self.large)?)
    }

    /// The heatmap of a large image; `None` where the model has none, or sees images as a whole only.
    pub(super) fn heatmap_large(&self, image: &Image) -> Result<Option<Image>> {
        self.check_memory(image)?;
        let seen = self.seen(image);
        let pixels = in_channels(&seen, self.finder.channels());
        let view = self.view(image, &pixels);
        let heat = self.finder.heatmap_large(view, self.large)?;
        Ok(heat.map(|pixels| Image {
            channels: 1,
            pixels,
            ..*image
        }))
    }

    fn view<'a>(&self, image: &Image, pixels: &'a [f32]) -> ImageView<'a> {
        ImageView {
            pixels,
            channels: self.finder.channels(),
            width_px: image.width_px,
            height_px: image.height_px,
        }
    }

    fn check_memory(&self, image: &Image) -> Result<()> {
        let (width_px, height_px) = (image.width_px, image.height_px);
        let search = self
            .finder
            .large_memory_bytes(width_px, height_px, self.large) as f64;
        let copied = match image.channels == self.finder.channels() {
            true => 0,
            false => 4 * self.finder.channels() * width_px * height_px,
        };
        let needed = (search + copied as f64) / MEGABYTE;
        match memory::available_mb() {
            Some(available) if needed > available => Err(Error::Failed(format!(
                "searching {width_px} x {height_px} px takes about {needed:.0} MB of memory and {available:.0} MB are \
                 free: smaller tiles (--tile-px) take less, or cut the image into parts"
            ))),
            _ => Ok(()),
        }
    }
}
