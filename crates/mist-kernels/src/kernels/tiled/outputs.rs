//! Sums on their way from tiles to a map.

use super::{POSITIONS, Plane};
use crate::simd::Vector;
use crate::tiles::SIDE;

/// Stands for a position between rows.
const NOWHERE: usize = usize::MAX;

/// The map that is written.
pub(super) struct Outputs<'a> {
    pub plane: Plane,
    pub dst: *mut f32,
    pub bias: Option<&'a [f32]>,
    pub relu: bool,
    pub accumulate: bool,
}

impl Outputs<'_> {
    /// Where the outputs of a block of positions begin in the map.
    #[inline(always)]
    pub fn places(&self, top: usize, first: usize, positions: usize) -> [usize; POSITIONS] {
        let Plane { dst, .. } = self.plane;
        let (pitch, period) = (self.plane.pitch(), self.plane.period());
        let mut places = [NOWHERE; POSITIONS];
        let (mut row, mut x) = (top + first / pitch, first % pitch);
        let (mut sample, mut y) = (row / period, row % period);
        for place in places.iter_mut().take(positions - first) {
            if x < dst.width && y < dst.height {
                *place = dst.at(sample, y, x);
            }
            x += 1;
            if x == pitch {
                x = 0;
                row += 1;
                (sample, y) = (row / period, row % period);
            }
        }
        places
    }

    /// Writes one tile of outputs; a tile never spans two lines of a pixel.
    ///
    /// # Safety
    /// The map holds the places, and `sums` two rows of tiles side by side.
    #[inline(always)]
    pub unsafe fn write<V: Vector>(
        &self,
        tile: usize,
        places: &[usize; POSITIONS],
        sums: *const f32,
    ) {
        let dst = self.plane.dst;
        let (line, first) = (
            tile * SIDE / dst.line_channels(),
            tile * SIDE % dst.line_channels(),
        );
        let width = SIDE.min(dst.line_channels() - first);
        let offset = line * dst.line_step() + first;
        for column in (0..width).step_by(V::LANES) {
            // SAFETY: places are pixels of the map, sums are rows of two tiles, and the bias has the map's channels.
            unsafe {
                let bias = match self.bias {
                    Some(bias) => V::load(bias.as_ptr().add((first + column) % dst.map_channels)),
                    None => V::splat(0.0),
                };
                let floor = V::splat(if self.relu { 0.0 } else { f32::NEG_INFINITY });
                for (position, &place) in places.iter().enumerate() {
                    if place == NOWHERE {
                        continue;
                    }
                    let to = self.dst.add(place + offset + column);
                    let mut value = V::load(sums.add(position * 2 * SIDE + column)).add(bias);
                    if self.accumulate {
                        value = value.add(V::load(to));
                    }
                    value.max(floor).store(to);
                }
            }
        }
    }
}
