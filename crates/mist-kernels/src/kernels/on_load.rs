//! What a convolution does to its source while it reads it.

/// A norm, and perhaps a rectifier, applied to a source while it is read.
#[derive(Clone, Copy)]
pub(crate) struct OnLoad<'a> {
    /// Per sample all factors, then all offsets.
    pub affine: &'a [f32],
    pub relu: bool,
}
