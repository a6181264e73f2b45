//! Where the pixels of a convolution lie in the line of positions.

use super::{POSITIONS, Pixels, STRIP_VALUES};
use crate::tiles::{SIDE, TILE_VALUES};

/// A square kernel with stride 1 between two maps.
///
/// Rows are `pitch` positions long and samples `period` rows: the frame after a row is the one before the next, and
/// likewise for samples. The position of an output is that of its first tap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    pub src: Pixels,
    pub dst: Pixels,
    pub kernel: usize,
    /// Pixels of zeros around the source.
    pub frame: usize,
    /// Whether the rounding errors of the factors are multiplied too.
    pub residues: bool,
}

impl Plane {
    /// The plane of the input's gradient; its weights are transposed and its taps reversed.
    pub fn reversed(self) -> Self {
        Self {
            src: self.dst,
            dst: self.src,
            frame: self.kernel - 1 - self.frame,
            residues: false,
            ..self
        }
    }

    pub(super) fn pitch(self) -> usize {
        self.src.width + self.frame
    }

    /// As [`Plane::pitch`], but even: pairs of positions then lie in one row.
    pub(super) fn even_pitch(self) -> usize {
        self.pitch().next_multiple_of(2)
    }

    pub(super) fn period(self) -> usize {
        self.src.height + self.frame
    }

    /// Rows from the first output to the last.
    pub(super) fn rows(self, samples: usize) -> usize {
        match samples {
            0 => 0,
            _ => (samples - 1) * self.period() + self.dst.height,
        }
    }

    /// Channels of a position of the source, and how many of them and their right neighbours one tile row holds.
    ///
    /// The taps of a kernel's row are neighbours in memory, so that a tile row may hold several taps or a part of one.
    /// Parts are equally long, so that one configuration fits all tiles.
    pub(super) fn depth(self) -> Depth {
        let chunk_of = |channels: usize| {
            let all = self.kernel * channels;
            let fits = |chunk: &usize| all.is_multiple_of(*chunk);
            let mut chunks = (1..=SIDE).rev().map(|pairs| 2 * pairs);
            chunks.find(fits).unwrap_or(2)
        };
        let channels = self.src.channels();
        let (padded, least) = (channels.next_multiple_of(2 * SIDE), SIDE.min(channels));
        match chunk_of(channels) {
            chunk if chunk >= least => Depth { channels, chunk },
            _ => Depth {
                channels: padded,
                chunk: 2 * SIDE,
            },
        }
    }

    /// Tiles of outputs.
    pub(super) fn out_tiles(self) -> usize {
        self.dst.channels().div_ceil(SIDE)
    }

    /// Tiles of inputs.
    pub(super) fn in_tiles(self) -> usize {
        self.src.channels().div_ceil(SIDE)
    }

    /// Chunks of all kernel rows.
    pub(super) fn chunks(self) -> usize {
        let Depth { channels, chunk } = self.depth();
        self.kernel * (self.kernel * channels / chunk)
    }

    /// Rounded factors, and perhaps their residues.
    pub(super) fn parts(self) -> usize {
        1 + usize::from(self.residues)
    }

    /// Values, as pairs of bf16, of a part of the weights.
    pub(super) fn part_len(self) -> usize {
        self.out_tiles() * self.chunks() * self.depth().chunk / 2 * SIDE
    }

    /// Values of the packed weights.
    pub fn weights_len(self) -> usize {
        self.parts() * self.part_len()
    }

    /// Values of the gradient of the weights in tiles.
    pub fn gradient_len(self) -> usize {
        self.kernel * self.kernel * self.in_tiles() * self.out_tiles() * TILE_VALUES
    }

    /// Output rows per strip of the convolution.
    pub(super) fn strip_rows(self) -> usize {
        (STRIP_VALUES / (self.pitch() * self.depth().channels)).max(1)
    }

    /// Positions that a strip of the convolution reads.
    pub(super) fn strip_positions(self, rows: usize) -> usize {
        (rows + self.kernel - 1) * self.pitch() + self.kernel - 1 + POSITIONS
    }

    /// Values of scratch of [`TileConvolution`](super::TileConvolution).
    pub fn scratch_len(self) -> usize {
        self.parts() * self.strip_len(self.strip_rows())
    }

    /// Values, as pairs of bf16 and in whole cache lines, of a part of a strip.
    pub(super) fn strip_len(self, rows: usize) -> usize {
        let values = self.strip_positions(rows) * self.depth().channels;
        values.div_ceil(2).next_multiple_of(SIDE)
    }

    /// Output rows per strip of the gradient.
    pub(super) fn gradient_strip_rows(self) -> usize {
        let widest = self.src.channels().max(self.dst.channels());
        (STRIP_VALUES / (self.even_pitch() * widest)).max(1)
    }

    /// Sizes of a strip of the gradient.
    pub(super) fn span(self, rows: usize) -> Span {
        let outputs = (rows * self.even_pitch()).next_multiple_of(POSITIONS);
        let reach = (self.kernel - 1) * (self.even_pitch() + 1);
        let rows_end = (rows + self.kernel - 1) * self.even_pitch();
        let inputs = (outputs + reach).max(rows_end).div_ceil(POSITIONS);
        Span {
            outputs,
            // An odd number of cache lines keeps the channels' rows apart in the cache.
            inputs: (inputs | 1) * POSITIONS,
            in_step: self.in_tiles() * SIDE,
            out_step: self.out_tiles() * SIDE,
        }
    }

    /// Values of scratch of [`TileWeightGradient`](super::TileWeightGradient).
    pub fn gradient_scratch_len(self) -> usize {
        self.span(self.gradient_strip_rows()).parts().iter().sum()
    }
}

/// See [`Plane::depth`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Depth {
    pub channels: usize,
    pub chunk: usize,
}

/// A strip of the gradient.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Positions of outputs and of inputs, with zeros at the end.
    pub outputs: usize,
    pub inputs: usize,
    /// Channels with padding to whole tiles.
    pub in_step: usize,
    pub out_step: usize,
}

impl Span {
    /// Values of the interleaved source, the transposed source and the interleaved gradient.
    pub fn parts(self) -> [usize; 3] {
        let source = self.inputs / 2 * self.in_step;
        [source, source, self.outputs / 2 * self.out_step]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(kernel: usize, channels: usize) -> Depth {
        let pixels = Pixels {
            height: 5,
            width: 7,
            lines: 1,
            across: 1,
            map_channels: channels,
        };
        let plane = Plane {
            src: pixels,
            dst: pixels,
            kernel,
            frame: kernel / 2,
            residues: false,
        };
        plane.depth()
    }

    #[test]
    fn tile_rows_hold_taps_or_parts_of_them() {
        let chunks = |kernel, channels: [usize; 6]| channels.map(|c| depth(kernel, c).chunk);
        assert_eq!(
            chunks(3, [8, 16, 24, 32, 40, 128]),
            [24, 24, 24, 32, 30, 32]
        );
        assert_eq!(chunks(1, [8, 16, 24, 32, 40, 128]), [8, 16, 24, 32, 20, 32]);
    }

    #[test]
    fn awkward_widths_are_padded_to_whole_tile_rows() {
        let expected = Depth {
            channels: 160,
            chunk: 32,
        };
        assert_eq!(depth(1, 136), expected);
        for channels in (8..=512).step_by(8) {
            for kernel in [1, 3] {
                let Depth { channels: c, chunk } = depth(kernel, channels);
                assert!(c >= channels && (kernel * c).is_multiple_of(chunk));
                assert!(chunk.is_multiple_of(2) && chunk <= 32);
            }
        }
    }
}
