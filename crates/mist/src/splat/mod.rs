//! The generative model G of the ideal heatmap (paper, section 4.1 and appendix B).

mod gaussian;
mod nearest;

pub use gaussian::{CellRounding, GaussianSplat, GaussianTarget, GaussianWidth};
pub use nearest::splat;
