//! Passes over whole maps: ReLU, residual sum, sums per channel.

use crate::simd::{Kernel, Vector};

/// The skip connection of a residual block: its map is the branch's plus a frame that is cropped.
#[derive(Clone, Copy)]
pub(crate) struct Crop {
    pub height: usize,
    pub width: usize,
    /// With padding.
    pub channels: usize,
    /// Pixels cut off at each side of the skipped map.
    pub frame: usize,
}

impl Crop {
    /// Offset in the skipped sample of row `y` of the branch.
    #[inline(always)]
    pub fn skip_row(self, y: usize) -> usize {
        ((y + self.frame) * (self.width + 2 * self.frame) + self.frame) * self.channels
    }

    /// Values in a sample of the branch.
    pub fn len(self) -> usize {
        self.height * self.width * self.channels
    }

    /// Values in a sample of the skipped map.
    pub fn skip_len(self) -> usize {
        (self.height + 2 * self.frame) * (self.width + 2 * self.frame) * self.channels
    }

    /// Values in a row of the branch.
    pub fn row(self) -> usize {
        self.width * self.channels
    }

    /// Zeroes the pixels of a skipped sample that the crop cuts off.
    pub fn clear_frame(self, sample: &mut [f32]) {
        if self.frame == 0 {
            return;
        }
        let skip_width = self.width + 2 * self.frame;
        let band = self.frame * skip_width * self.channels;
        let side = self.frame * self.channels;
        let last = sample.len() - band;
        sample[..band].fill(0.0);
        sample[last..].fill(0.0);
        for line in sample[band..last].chunks_exact_mut(skip_width * self.channels) {
            let right = line.len() - side;
            line[..side].fill(0.0);
            line[right..].fill(0.0);
        }
    }
}

/// `dst = src + skip`, rectified if asked for.
pub(crate) struct Add<'a> {
    pub crop: Crop,
    pub samples: usize,
    /// As [`Crop::len`].
    pub src: &'a [f32],
    /// As [`Crop::skip_len`].
    pub skip: &'a [f32],
    /// As [`Crop::len`].
    pub dst: &'a mut [f32],
    pub relu: bool,
}

impl Kernel for Add<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let crop = self.crop;
        for sample in 0..self.samples {
            for y in 0..crop.height {
                let row = sample * crop.len() + y * crop.row();
                let skip = &self.skip[sample * crop.skip_len() + crop.skip_row(y)..][..crop.row()];
                let src = &self.src[row..][..crop.row()];
                let dst = &mut self.dst[row..][..crop.row()];
                for at in (0..crop.row()).step_by(V::LANES) {
                    // SAFETY: all three rows are `crop.row()` long, which the lanes divide as they divide the channels.
                    unsafe {
                        let sum = V::load(src.as_ptr().add(at)).add(V::load(skip.as_ptr().add(at)));
                        let sum = match self.relu {
                            true => sum.max(V::splat(0.0)),
                            false => sum,
                        };
                        sum.store(dst.as_mut_ptr().add(at));
                    }
                }
            }
        }
    }
}

/// `gradient = gradient where output > 0`, in place.
pub(crate) struct MaskPositive<'a> {
    /// As long as the gradient, a multiple of the lanes.
    pub output: &'a [f32],
    pub gradient: &'a mut [f32],
}

impl Kernel for MaskPositive<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let len = self.gradient.len().min(self.output.len());
        for at in (0..len).step_by(V::LANES) {
            // SAFETY: both slices hold `len` values, which the lanes divide.
            unsafe {
                let to = self.gradient.as_mut_ptr().add(at);
                let mask = V::load(self.output.as_ptr().add(at));
                V::load(to).where_positive(mask).store(to);
            }
        }
    }
}

/// Writes the gradient of a branch into that of the skipped map, inside its frame; adds if `accumulate`.
pub(crate) struct AddToSkip<'a> {
    pub crop: Crop,
    pub samples: usize,
    pub gradient: &'a [f32],
    pub skip_gradient: &'a mut [f32],
    pub accumulate: bool,
}

impl Kernel for AddToSkip<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let crop = self.crop;
        for sample in 0..self.samples {
            let map = &mut self.skip_gradient[sample * crop.skip_len()..][..crop.skip_len()];
            if !self.accumulate {
                crop.clear_frame(map);
            }
            for y in 0..crop.height {
                let src = &self.gradient[sample * crop.len() + y * crop.row()..][..crop.row()];
                let dst = &mut map[crop.skip_row(y)..][..crop.row()];
                if !self.accumulate {
                    dst.copy_from_slice(src);
                    continue;
                }
                for at in (0..crop.row()).step_by(V::LANES) {
                    // SAFETY: both rows are `crop.row()` long, which the lanes divide as they divide the channels.
                    unsafe {
                        let to = dst.as_mut_ptr().add(at);
                        V::load(to).add(V::load(src.as_ptr().add(at))).store(to);
                    }
                }
            }
        }
    }
}

/// `sums[channel] += sum over pixels`.
pub(crate) struct ChannelSums<'a> {
    /// `[pixel][channel]`.
    pub pixels: &'a [f32],
    /// With padding.
    pub channels: usize,
    /// One per channel.
    pub sums: &'a mut [f32],
}

impl Kernel for ChannelSums<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let sums = &mut self.sums[..self.channels];
        for channel in (0..self.channels).step_by(V::LANES) {
            // SAFETY: pixels and sums hold `channels` values each, which the lanes divide.
            unsafe {
                let mut sum = V::splat(0.0);
                for pixel in self.pixels.chunks_exact(self.channels) {
                    sum = sum.add(V::load(pixel.as_ptr().add(channel)));
                }
                let to = sums.as_mut_ptr().add(channel);
                V::load(to).add(sum).store(to);
            }
        }
    }
}
