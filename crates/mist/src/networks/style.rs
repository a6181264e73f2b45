//! The two styles of residual block: the paper's and the released code's.

use mist_kernels::network::{Layer, NormPlacement, Padding, ResidualBlock};
use serde::{Deserialize, Serialize};

/// How residual blocks and the convolutions between them are normalised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockStyle {
    /// Layer norm before each convolution that does not read the raw image (appendix C.1).
    Paper,
    /// One norm after each convolution, shared within a block; none between blocks.
    Official,
}

impl BlockStyle {
    /// A residual block of this style.
    pub fn residual(self, padding: Padding) -> Layer {
        Layer::Residual(match self {
            Self::Paper => ResidualBlock {
                padding,
                norm: NormPlacement::Before,
                shared_norm: false,
            },
            Self::Official => ResidualBlock {
                padding,
                norm: NormPlacement::After,
                shared_norm: true,
            },
        })
    }

    /// `convolution` with the norm that this style puts before it.
    pub(super) fn between_blocks(self, convolution: Layer) -> Vec<Layer> {
        match self {
            Self::Paper => vec![Layer::Norm, convolution],
            Self::Official => vec![convolution],
        }
    }
}
