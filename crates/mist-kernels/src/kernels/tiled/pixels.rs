//! A map as a convolution on tiles sees it.

use crate::kernels::run::Side;

/// A map whose pixels may stand for several of its own: then their channels follow each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pixels {
    pub height: usize,
    pub width: usize,
    /// Rows of the map in one row of pixels.
    pub lines: usize,
    /// Neighbours in a row of the map that make up one pixel.
    pub across: usize,
    /// Channels of the map, with padding.
    pub map_channels: usize,
}

impl Pixels {
    /// The map as it is.
    pub fn single(side: Side) -> Self {
        Self {
            height: side.height,
            width: side.width,
            lines: 1,
            across: 1,
            map_channels: side.channels,
        }
    }

    /// Squares of 2x2: what an up-convolution makes of one pixel.
    pub fn squares(side: Side) -> Self {
        Self {
            height: side.height / 2,
            width: side.width / 2,
            lines: 2,
            across: 2,
            map_channels: side.channels,
        }
    }

    /// The whole map as one pixel.
    pub fn whole(side: Side) -> Self {
        Self {
            height: 1,
            width: 1,
            lines: 1,
            across: side.height * side.width,
            map_channels: side.channels,
        }
    }

    /// Values of one pixel.
    pub fn channels(self) -> usize {
        self.lines * self.line_channels()
    }

    /// Values of one pixel that follow each other in the map.
    #[inline(always)]
    pub fn line_channels(self) -> usize {
        self.across * self.map_channels
    }

    /// Values between two lines of the map.
    #[inline(always)]
    pub fn line_step(self) -> usize {
        self.width * self.line_channels()
    }

    /// Where the first line of a pixel begins.
    #[inline(always)]
    pub fn at(self, sample: usize, y: usize, x: usize) -> usize {
        (sample * self.height + y) * self.lines * self.line_step() + x * self.line_channels()
    }
}
