//! Rows of a map written as positions, rounded to bf16.

use super::Pixels;
use crate::kernels::on_load::OnLoad;
use crate::simd::Vector;

/// A map as a strip reads it.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    /// `samples` maps of `pixels`.
    pub map: &'a [f32],
    pub pixels: Pixels,
    pub samples: usize,
    pub on_load: Option<OnLoad<'a>>,
    /// Zeros before each row and each sample.
    pub frame: usize,
    /// Positions per row and rows per sample.
    pub pitch: usize,
    pub period: usize,
}

impl Source<'_> {
    /// Sample and row of the map that a row of positions shows, if any.
    #[inline(always)]
    fn place(&self, row: usize) -> Option<(usize, usize)> {
        let (sample, y) = (row / self.period, row % self.period);
        let y = y.checked_sub(self.frame)?;
        (sample < self.samples && y < self.pixels.height).then_some((sample, y))
    }

    /// Writes a row as `[position][step]` bf16, channels from the pixel's on zero.
    ///
    /// # Safety
    /// The vector's instruction set is present and its lanes divide the map's channels. The map holds all samples, and
    /// `to` has room for `pitch` positions of at least a pixel's channels.
    #[inline(always)]
    pub unsafe fn write_row<V: Vector>(&self, row: usize, to: Line) {
        let pixels = self.pixels;
        let (lines, line_channels) = (pixels.lines, pixels.line_channels());
        // SAFETY: `place` gives a sample and a row of the map only. A row is `frame` positions, one per pixel and the
        // rest of `pitch`, all of which `to` has room for; registers end with the map's channels.
        unsafe {
            let Some((sample, y)) = self.place(row) else {
                to.clear(0, self.pitch);
                return;
            };
            to.clear(0, self.frame);
            let norm = Norm::of(self.on_load, sample, pixels.map_channels);
            for x in 0..pixels.width {
                let from = self.map.as_ptr().add(pixels.at(sample, y, x));
                if lines * line_channels < to.step {
                    to.clear(self.frame + x, 1);
                }
                for line in 0..lines {
                    let from = from.add(line * pixels.line_step());
                    let at = (self.frame + x) * to.step + line * line_channels;
                    for first in (0..line_channels).step_by(pixels.map_channels) {
                        for channel in (0..pixels.map_channels).step_by(V::LANES) {
                            let value = V::load(from.add(first + channel));
                            let value = norm.apply(value, channel);
                            to.write(at + first + channel, value);
                        }
                    }
                }
            }
            let end = self.frame + pixels.width;
            to.clear(end, self.pitch - end);
        }
    }

    /// Writes a row as `[pair of positions][step]` pairs of bf16; the pitch is even.
    ///
    /// # Safety
    /// The vector's instruction set is present and its lanes divide the map's channels. The map holds all samples, and
    /// `to` is valid for writes of `pitch / 2` pairs of `step` values, at least a pixel's channels.
    #[inline(always)]
    pub unsafe fn write_pairs<V: Vector>(&self, row: usize, to: *mut f32, step: usize) {
        let pixels = self.pixels;
        let (lines, line_channels) = (pixels.lines, pixels.line_channels());
        // SAFETY: `place` gives a sample and a row of the map only, and a position is read only if it is below the row's
        // width. Writes are a pixel's channels in each of `pitch / 2` pairs; registers end with the map's channels.
        unsafe {
            let Some((sample, y)) = self.place(row) else {
                to.write_bytes(0, self.pitch / 2 * step);
                return;
            };
            let norm = Norm::of(self.on_load, sample, pixels.map_channels);
            let start = self.map.as_ptr().add(pixels.at(sample, y, 0));
            for pair in 0..self.pitch / 2 {
                // Wraps for positions in the frame, which then lie beyond the width.
                let low = (2 * pair).wrapping_sub(self.frame);
                let high = (2 * pair + 1).wrapping_sub(self.frame);
                let (has_low, has_high) = (low < pixels.width, high < pixels.width);
                for line in 0..lines {
                    let from = start.add(line * pixels.line_step());
                    let to = to.add(pair * step + line * line_channels);
                    for first in (0..line_channels).step_by(pixels.map_channels) {
                        for channel in (0..pixels.map_channels).step_by(V::LANES) {
                            let at = first + channel;
                            let (mut a, mut b) = (V::splat(0.0), V::splat(0.0));
                            if has_low {
                                let value = V::load(from.add(low * line_channels + at));
                                a = norm.apply(value, channel);
                            }
                            if has_high {
                                let value = V::load(from.add(high * line_channels + at));
                                b = norm.apply(value, channel);
                            }
                            a.pair_bf16(b).store(to.add(at));
                        }
                    }
                }
            }
        }
    }
}

/// Room for positions in bf16.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub start: *mut u16,
    /// Values per position.
    pub step: usize,
    /// Distance at which rounding errors are written, if they are.
    pub residues: Option<usize>,
}

impl Line {
    /// The line from a position on.
    ///
    /// # Safety
    /// The line has room for `position` positions.
    #[inline(always)]
    pub unsafe fn from(self, position: usize) -> Self {
        Self {
            // SAFETY: the place is inside the line, or one past its end.
            start: unsafe { self.start.add(position * self.step) },
            ..self
        }
    }

    /// Writes zeros.
    ///
    /// # Safety
    /// The line, and that of the residues, has room for `first + positions` positions.
    #[inline(always)]
    pub unsafe fn clear(self, first: usize, positions: usize) {
        // SAFETY: as the caller promises.
        unsafe {
            let to = self.start.add(first * self.step);
            to.write_bytes(0, positions * self.step);
            if let Some(distance) = self.residues {
                to.add(distance).write_bytes(0, positions * self.step);
            }
        }
    }

    /// # Safety
    /// The vector's instruction set is present. The line, and that of the residues, has room for a register from `at` on.
    #[inline(always)]
    unsafe fn write<V: Vector>(self, at: usize, value: V) {
        // SAFETY: as the caller promises.
        unsafe {
            let to = self.start.add(at);
            value.store_bf16(to);
            if let Some(distance) = self.residues {
                value.sub(value.round_bf16()).store_bf16(to.add(distance));
            }
        }
    }
}

/// One sample's part of an [`OnLoad`].
#[derive(Clone, Copy)]
struct Norm {
    /// Null for none.
    factors: *const f32,
    offsets: *const f32,
    floor: f32,
}

impl Norm {
    #[inline(always)]
    fn of(on_load: Option<OnLoad<'_>>, sample: usize, channels: usize) -> Self {
        let Some(OnLoad { affine, relu }) = on_load else {
            return Self {
                factors: std::ptr::null(),
                offsets: std::ptr::null(),
                floor: 0.0,
            };
        };
        let affine = &affine[sample * 2 * channels..][..2 * channels];
        let (factors, offsets) = affine.split_at(channels);
        Self {
            factors: factors.as_ptr(),
            offsets: offsets.as_ptr(),
            floor: if relu { 0.0 } else { f32::NEG_INFINITY },
        }
    }

    /// # Safety
    /// The vector's instruction set is present, and a register of channels is left from `channel` on.
    #[inline(always)]
    unsafe fn apply<V: Vector>(&self, value: V, channel: usize) -> V {
        if self.factors.is_null() {
            return value;
        }
        // SAFETY: both pointers come from slices of one value per channel, see `Norm::of`.
        unsafe {
            let factor = V::load(self.factors.add(channel));
            let offset = V::load(self.offsets.add(channel));
            value.mul_add(factor, offset).max(V::splat(self.floor))
        }
    }
}
