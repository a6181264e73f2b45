//! What finds objects: the interface of every trained model.

use std::fmt;

use burn::tensor::Tensor;

use crate::Error;
use crate::extract::Selection;
use crate::geometry::Detection;
use crate::large::{ImageView, LargeSearch};

/// A trained model, whatever method it comes from.
pub trait Finder: fmt::Debug {
    /// Channels of the images that it takes.
    fn channels(&self) -> usize;

    /// K, the number of objects per image that it was trained for.
    fn instances(&self) -> usize;

    /// Number of classes that it tells apart; `None` where its labels mean nothing.
    fn classes(&self) -> Option<usize>;

    /// From this score on what it finds is an object, for models that find out how many there are.
    fn least_score(&self) -> Option<f32> {
        None
    }

    /// At most `k[i]` objects of image `i`, highest score first.
    ///
    /// # Shapes
    /// - `images`: `[batch, channels, height, width]`, values in `0..1`
    ///
    /// # Errors
    /// When the images do not fit the networks, or an output is not finite.
    fn find(&self, images: Tensor<4>, k: &[usize]) -> Result<Vec<Vec<Detection>>, Error>;

    /// As [`Finder::find`] in features of a backbone that were computed before; `None` for models without one.
    ///
    /// # Shapes
    /// - `features`: `[batch, channels, height, width]`
    ///
    /// # Errors
    /// As [`Finder::find`].
    fn find_in_features(
        &self,
        features: Tensor<4>,
        k: &[usize],
    ) -> Result<Option<Vec<Vec<Detection>>>, Error> {
        let (_, _) = (features, k);
        Ok(None)
    }

    /// Whether K is the most that an image may hold, not what it holds: then what is no object has the last label, and
    /// boxes of one size only say where an object's centre is.
    fn is_at_most(&self) -> bool {
        false
    }

    /// The objects of each image that have at least this score, highest first; `None` for models that cannot tell.
    ///
    /// # Errors
    /// As [`Finder::find`].
    fn find_at_least(
        &self,
        images: Tensor<4>,
        score: f32,
    ) -> Result<Option<Vec<Vec<Detection>>>, Error> {
        let (_, _) = (images, score);
        Ok(None)
    }

    /// The objects of an image that is too large for [`Finder::find`]; `None` for models that see images as a whole only.
    ///
    /// # Errors
    /// As [`Finder::find`].
    fn find_large(
        &self,
        image: ImageView<'_>,
        selection: Selection,
        search: LargeSearch,
    ) -> Result<Option<Vec<Detection>>, Error> {
        let (_, _, _) = (image, selection, search);
        Ok(None)
    }

    /// As [`Finder::heatmap`] for one large image, `height_px * width_px` values.
    ///
    /// # Errors
    /// As [`Finder::find`].
    fn heatmap_large(
        &self,
        image: ImageView<'_>,
        search: LargeSearch,
    ) -> Result<Option<Vec<f32>>, Error> {
        let (_, _) = (image, search);
        Ok(None)
    }

    /// Memory that [`Finder::find_large`] takes beside the image, in bytes.
    fn large_memory_bytes(&self, width_px: usize, height_px: usize, search: LargeSearch) -> u64 {
        let (_, _, _) = (width_px, height_px, search);
        0
    }

    /// H of images, the sum over its scales; `None` for models without a heatmap.
    ///
    /// # Shapes
    /// - `images`: `[batch, channels, height, width]`
    /// - output: `[batch, 1, height, width]`, not negative
    ///
    /// # Errors
    /// As [`Finder::find`].
    fn heatmap(&self, images: Tensor<4>) -> Result<Option<Tensor<4>>, Error> {
        let _ = images;
        Ok(None)
    }

    /// The images redrawn from what was found in them; `None` for models that cannot.
    ///
    /// # Shapes
    /// - `images` and output: `[batch, channels, height, width]`
    ///
    /// # Errors
    /// As [`Finder::find`].
    fn redraw(
        &self,
        images: Tensor<4>,
        found: &[Vec<Detection>],
    ) -> Result<Option<Tensor<4>>, Error> {
        let (_, _) = (images, found);
        Ok(None)
    }

    /// The patches behind detections, and what becomes of them; `None` for models without patches, and where nothing was found.
    ///
    /// # Errors
    /// As [`Finder::find`].
    fn patches(
        &self,
        images: Tensor<4>,
        found: &[Vec<Detection>],
    ) -> Result<Option<Patches>, Error> {
        let (_, _) = (images, found);
        Ok(None)
    }

    /// The weights by name, as safetensors.
    ///
    /// # Errors
    /// When the device cannot be read.
    fn to_safetensors(&self) -> Result<Vec<u8>, Error>;
}

/// Every detection's patch, image after image.
#[derive(Clone, Debug)]
pub struct Patches {
    /// What the task network sees, less the background: `[detections, channels, side, side]`.
    pub seen: Tensor<4>,
    /// What an auto-encoder makes of it, of the same shape.
    pub redrawn: Option<Tensor<4>>,
    /// The value of an image without objects.
    pub background: f32,
    /// Side of what a patch shows, in pixels of the image, at scale 1.
    pub shown_px: f32,
}
