//! A norm that a convolution applies to its source while reading it.

/// A norm, and a ReLU if `relu`, applied to a source while it is read.
#[derive(Clone, Copy)]
pub(crate) struct OnLoad<'a> {
    /// Per sample all factors, then all offsets.
    pub affine: &'a [f32],
    pub relu: bool,
}
