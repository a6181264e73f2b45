//! What finds objects: the interface of every trained model.

use std::fmt;

use burn::tensor::Tensor;

use crate::Error;
use crate::geometry::Detection;

/// A trained model, whatever method it comes from.
pub trait Finder: fmt::Debug {
    /// Channels of the images that it takes.
    fn channels(&self) -> usize;

    /// K, the number of objects per image that it was trained for.
    fn instances(&self) -> usize;

    /// Number of classes that it tells apart; `None` where its labels mean nothing.
    fn classes(&self) -> Option<usize>;

    /// At most `k[i]` objects of image `i`, highest score first.
    ///
    /// # Shapes
    /// - `images`: `[batch, channels, height, width]`, values in `0..1`
    ///
    /// # Errors
    /// When the images do not fit the networks, or an output is not finite.
    fn find(&self, images: Tensor<4>, k: &[usize]) -> Result<Vec<Vec<Detection>>, Error>;

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

    /// The patches behind detections, and what becomes of them; `None` for models without patches.
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
