//! How many maxima are wanted.

/// Which maxima of a heatmap become keypoints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Selection {
    /// As many as this, the strongest; where there are fewer, the strongest suppressed pixels follow.
    Strongest(usize),
    /// Those with at least this response, at most [`Selection::MOST`] of them.
    AtLeast(f32),
}

impl Selection {
    /// Most keypoints that a response selects.
    pub const MOST: usize = 1 << 16;

    /// Most keypoints.
    pub(super) fn most(self) -> usize {
        match self {
            Self::Strongest(instances) => instances,
            Self::AtLeast(_) => Self::MOST,
        }
    }

    /// The least response of a maximum.
    pub(super) fn least(self) -> f32 {
        match self {
            Self::Strongest(_) => f32::NEG_INFINITY,
            Self::AtLeast(response) => response,
        }
    }

    /// Whether suppressed pixels make up the number.
    pub(super) fn is_filled_up(self) -> bool {
        matches!(self, Self::Strongest(_))
    }
}
