//! A map as a convolution on tiles sees it.

use crate::kernels::run::MapSize;

/// A map whose pixels may each consist of several of the map's own, with their channels one after the other.
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
    pub fn single(size: MapSize) -> Self {
        Self {
            height: size.height,
            width: size.width,
            lines: 1,
            across: 1,
            map_channels: size.channels,
        }
    }

    /// Squares of 2x2: what an up-convolution makes of one pixel.
    pub fn squares(size: MapSize) -> Self {
        Self {
            height: size.height / 2,
            width: size.width / 2,
            lines: 2,
            across: 2,
            map_channels: size.channels,
        }
    }

    /// The whole map as one pixel.
    pub fn whole(size: MapSize) -> Self {
        Self {
            height: 1,
            width: 1,
            lines: 1,
            across: size.height * size.width,
            map_channels: size.channels,
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
