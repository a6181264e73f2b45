//! Sums of tiles written to a map.

use super::{POSITIONS, Plane};
use crate::simd::Vector;
use crate::tiles::SIDE;

/// Neighbouring positions of a block that are neighbours in the map too.
#[derive(Clone, Copy, Default)]
struct Stretch {
    position: usize,
    len: usize,
    /// Where the first output begins in the map.
    place: usize,
}

/// The outputs among a block of positions.
pub(super) struct Stretches {
    all: [Stretch; POSITIONS],
    count: usize,
}

/// The map that is written.
pub(super) struct Outputs<'a> {
    pub plane: Plane,
    pub dst: *mut f32,
    pub bias: Option<&'a [f32]>,
    pub relu: bool,
    pub accumulate: bool,
}

impl Outputs<'_> {
    /// The outputs of a block of positions, without what lies between rows and samples.
    #[inline(always)]
    pub fn stretches(&self, top: usize, first: usize, positions: usize) -> Stretches {
        let Plane { dst, .. } = self.plane;
        let (pitch, period) = (self.plane.pitch(), self.plane.period());
        let mut found = Stretches {
            all: [Stretch::default(); POSITIONS],
            count: 0,
        };
        let end = positions.min(first + POSITIONS);
        let (mut at, mut row) = (first, top + first / pitch);
        let mut x = first % pitch;
        while at < end {
            let (sample, y) = (row / period, row % period);
            let len = dst.width.saturating_sub(x).min(end - at);
            if y < dst.height && len > 0 {
                found.all[found.count] = Stretch {
                    position: at - first,
                    len,
                    place: dst.at(sample, y, x),
                };
                found.count += 1;
            }
            at += pitch - x;
            x = 0;
            row += 1;
        }
        found
    }

    /// Writes one tile of outputs; a tile never spans two lines of a pixel.
    ///
    /// # Safety
    /// The vector's instruction set is present and its lanes divide the map's channels. `dst` is valid for reads and writes
    /// of the stretches, which are of this plane, and `sums` for reads of a tile's row at each of [`POSITIONS`], two
    /// tiles apart.
    #[inline(always)]
    pub unsafe fn write<V: Vector>(&self, tile: usize, stretches: &Stretches, sums: *const f32) {
        let dst = self.plane.dst;
        let (line, first) = (
            tile * SIDE / dst.line_channels(),
            tile * SIDE % dst.line_channels(),
        );
        let width = SIDE.min(dst.line_channels() - first);
        let offset = line * dst.line_step() + first;
        for column in (0..width).step_by(V::LANES) {
            // SAFETY: stretches are pixels of the map and positions below `POSITIONS`; the bias has the map's channels.
            // `width` ends with a line of the pixel, so that a register fits, as the lanes divide the map's channels.
            unsafe {
                let bias = match self.bias {
                    Some(bias) => V::load(bias.as_ptr().add((first + column) % dst.map_channels)),
                    None => V::splat(0.0),
                };
                let floor = V::splat(if self.relu { 0.0 } else { f32::NEG_INFINITY });
                for stretch in &stretches.all[..stretches.count] {
                    let mut from = sums.add(stretch.position * 2 * SIDE + column);
                    let mut to = self.dst.add(stretch.place + offset + column);
                    for _ in 0..stretch.len {
                        let mut value = V::load(from).add(bias);
                        if self.accumulate {
                            value = value.add(V::load(to));
                        }
                        value.max(floor).store(to);
                        from = from.wrapping_add(2 * SIDE);
                        to = to.wrapping_add(dst.line_channels());
                    }
                }
            }
        }
    }
}
