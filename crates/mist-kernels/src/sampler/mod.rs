//! Bilinear cutting of patches out of images and its inverse, forward and back (paper, sections 4.1 "Patch
//! resampling" and 4.2).
//!
//! Boxes are square and upright, so that interpolation is separable: each keypoint's neighbours and fractions are
//! found once per axis, columns are gathered for the few lines that its samples read, and lines are blended. The
//! inverse is the same with the roles of image and patch exchanged. Positions are in pixels with the first pixel's
//! centre at 0.5; what lies outside is black; on a pixel's centre the slope to the right is taken.
//!
//! Images run in parallel. All that one image receives is summed by one task in a fixed order, so that results do not
//! depend on the number of threads.

mod axis;

mod lines;
mod padded;
mod parts;
mod paste;
mod sample;
mod samples;
mod sizes;
mod way_back;

pub use paste::{paste, paste_backward};
pub use sample::{sample, sample_backward};
pub use sizes::{SamplerError, Sizes};

/// Which gradients the caller needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Of what is read: the images of [`sample`], the patches of [`paste`].
    pub source: bool,
    /// Of the keypoints.
    pub keypoints: bool,
}

/// What [`sample_backward`] and [`paste_backward`] found; what was not wanted is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gradients {
    /// Of what was read, in its own order.
    pub source: Option<Vec<f32>>,
    /// Of x, y and scale, `[batch][K][3]`.
    pub keypoints: Option<Vec<f32>>,
}
