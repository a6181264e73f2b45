//! Bilinear sampling of patches from images and its inverse, forward and backward (paper, sections 4.1 "Patch
//! resampling" and 4.2).
//!
//! Boxes are square and axis-aligned, so that interpolation is separable: neighbours and fractions are computed once per
//! axis, rows of the source are interpolated along x where a sample needs them, and pairs of rows along y. The inverse
//! is the same with the roles of image and patch exchanged. Positions are in pixels with the first pixel's centre at
//! 0.5. Outside its borders a source is zero. At a pixel's centre, where the slope is not defined, the one to the right
//! is used.
//!
//! Images are processed in parallel. Each output is summed by one task in a fixed order, so that results do not depend on
//! the number of threads.

mod axis;
mod backward;
mod lines;
mod padded;
mod parts;
mod paste;
mod sample;
mod samples;
mod sizes;

pub use paste::{paste, paste_backward};
pub use sample::{sample, sample_backward};
pub use sizes::{SamplerError, Sizes};

/// Which gradients the caller needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Of the source: the images of [`sample`], the patches of [`paste`].
    pub source: bool,
    /// Of the keypoints.
    pub keypoints: bool,
}

/// Gradients of [`sample`] and [`paste`]; `None` where not wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gradients {
    /// Of the source, in its shape.
    pub source: Option<Vec<f32>>,
    /// Of the keypoints' x, y and scale, `[batch, K, 3]`.
    pub keypoints: Option<Vec<f32>>,
}
