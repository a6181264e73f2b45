//! Tiles of maps between the pixel domain and the transformed one.

use super::{Outputs, PATCH, TILE, Tiling};
use crate::kernels::on_load::OnLoad;
use crate::simd::Vector;

/// A map as a convolution reads it.
pub(super) struct Source<'a> {
    pub map: &'a [f32],
    pub on_load: Option<OnLoad<'a>>,
}

impl Source<'_> {
    /// `B^T d B` of one tile; place `p` is written at `to + p * place_step`.
    ///
    /// # Safety
    /// The vector's instruction set is present and its lanes divide the source's channels. The map holds the tile's
    /// sample, and `to` is valid for writes of the source's channels at each of 36 places.
    #[inline(always)]
    pub unsafe fn transform<V: Vector>(
        &self,
        tiling: Tiling,
        tile: usize,
        to: *mut f32,
        place_step: usize,
    ) {
        let size = tiling.src;
        let (sample, y, x) = tiling.place(tile);
        let (top, left) = (
            y as isize - tiling.frame as isize,
            x as isize - tiling.frame as isize,
        );
        let inside = top >= 0
            && left >= 0
            && top + PATCH as isize <= size.height as isize
            && left + PATCH as isize <= size.width as isize;
        let corner = (sample * size.len()) as isize
            + (top * size.width as isize + left) * size.channels as isize;
        let corner = self.map.as_ptr().wrapping_offset(corner);
        let channels = size.channels;
        let (affine, floor) = match self.on_load {
            Some(on_load) => (
                on_load.affine[sample * 2 * channels..][..2 * channels].as_ptr(),
                if on_load.relu { 0.0 } else { f32::NEG_INFINITY },
            ),
            None => (std::ptr::null(), 0.0),
        };
        for channel in (0..size.channels).step_by(V::LANES) {
            // SAFETY: a pixel of the tile is read only if it lies inside the map, whether the whole tile does or its row
            // and column are checked; then a register fits, as the lanes divide the channels. `affine`, unless null,
            // points to twice the channels. Writes are at the caller's places.
            unsafe {
                let floor = V::splat(floor);
                let (mut factor, mut offset) = (floor, floor);
                if !affine.is_null() {
                    factor = V::load(affine.add(channel));
                    offset = V::load(affine.add(channels + channel));
                }
                let mut tile = [[V::splat(0.0); PATCH]; PATCH];
                for (row, line) in tile.iter_mut().enumerate() {
                    let from = corner.wrapping_add(row * size.width * size.channels + channel);
                    if inside {
                        for (column, value) in line.iter_mut().enumerate() {
                            *value = V::load(from.wrapping_add(column * size.channels));
                            if !affine.is_null() {
                                *value = value.mul_add(factor, offset).max(floor);
                            }
                        }
                    } else {
                        let y = top + row as isize;
                        if y < 0 || y >= size.height as isize {
                            continue;
                        }
                        for (column, value) in line.iter_mut().enumerate() {
                            let x = left + column as isize;
                            if x >= 0 && x < size.width as isize {
                                *value = V::load(from.wrapping_add(column * size.channels));
                                if !affine.is_null() {
                                    *value = value.mul_add(factor, offset).max(floor);
                                }
                            }
                        }
                    }
                    *line = source_line(*line);
                }
                for column in 0..PATCH {
                    let mut line = [V::splat(0.0); PATCH];
                    for (value, row) in line.iter_mut().zip(&tile) {
                        *value = row[column];
                    }
                    for (row, value) in source_line(line).into_iter().enumerate() {
                        value.store(to.add((row * PATCH + column) * place_step + channel));
                    }
                }
            }
        }
    }
}

/// One line times `B`.
///
/// # Safety
/// The vector's instruction set is present.
#[inline(always)]
unsafe fn source_line<V: Vector>(d: [V; PATCH]) -> [V; PATCH] {
    // SAFETY: the instruction set is present; no pointer is involved.
    unsafe {
        let (two, four, five) = (V::splat(2.0), V::splat(4.0), V::splat(-5.0));
        let minus_four = V::splat(-4.0);
        let even = d[2].mul_add(minus_four, d[4]);
        let odd = d[1].mul_add(minus_four, d[3]);
        let even_near = d[4].sub(d[2]);
        let odd_near = d[3].sub(d[1]).mul(two);
        [
            d[0].mul_add(four, d[2].mul_add(five, d[4])),
            even.add(odd),
            even.sub(odd),
            even_near.add(odd_near),
            even_near.sub(odd_near),
            d[1].mul_add(four, d[3].mul_add(five, d[5])),
        ]
    }
}

/// `A dY A^T` of one tile of gradients; place `p` is written at `to + p * place_step`.
///
/// # Safety
/// The vector's instruction set is present and its lanes divide the outputs' channels. The gradient holds the tile's
/// sample, and `to` is valid for writes of the outputs' channels at each of 36 places.
#[inline(always)]
pub(super) unsafe fn transform_gradient<V: Vector>(
    tiling: Tiling,
    gradient: &[f32],
    tile: usize,
    to: *mut f32,
    place_step: usize,
) {
    let size = tiling.dst;
    let Outputs {
        rows,
        columns,
        corner,
    } = tiling.outputs(tile);
    for channel in (0..size.channels).step_by(V::LANES) {
        // SAFETY: only the `rows` and `columns` of the tile that exist are read, a register at a time, as the lanes divide
        // the channels. Writes are at the caller's places.
        unsafe {
            let mut half = [[V::splat(0.0); TILE]; PATCH];
            for column in 0..columns {
                let mut line = [V::splat(0.0); TILE];
                for (row, value) in line.iter_mut().enumerate().take(rows) {
                    let at = corner + (row * size.width + column) * size.channels + channel;
                    *value = V::load(gradient.as_ptr().add(at));
                }
                for (half, value) in half.iter_mut().zip(gradient_line(line)) {
                    half[column] = value;
                }
            }
            for (row, line) in half.into_iter().enumerate() {
                for (column, value) in gradient_line(line).into_iter().enumerate() {
                    value.store(to.add((row * PATCH + column) * place_step + channel));
                }
            }
        }
    }
}

/// One line times `A^T`, from 4 outputs to 6 places.
///
/// # Safety
/// The vector's instruction set is present.
#[inline(always)]
unsafe fn gradient_line<V: Vector>(g: [V; TILE]) -> [V; PATCH] {
    // SAFETY: the instruction set is present; no pointer is involved.
    unsafe {
        let (two, four, eight) = (V::splat(2.0), V::splat(4.0), V::splat(8.0));
        let even = g[0].add(g[2]);
        let odd = g[1].add(g[3]);
        let even_far = g[2].mul_add(four, g[0]);
        let odd_far = g[1].mul_add(two, g[3].mul(eight));
        [
            g[0],
            even.add(odd),
            even.sub(odd),
            even_far.add(odd_far),
            even_far.sub(odd_far),
            g[3],
        ]
    }
}

/// What is done to the outputs of a tile before they are written.
pub(super) struct Finish<'a> {
    /// One value per padded channel.
    pub bias: Option<&'a [f32]>,
    pub relu: bool,
    pub accumulate: bool,
}

impl Finish<'_> {
    /// `A^T m A` of one tile, written to the pixels that exist.
    ///
    /// # Safety
    /// The vector's instruction set is present and its lanes divide the outputs' channels. `from` is valid for reads of
    /// the outputs' channels at each of 36 places, `place_step` apart, and `dst` holds the tile's sample.
    #[inline(always)]
    pub unsafe fn tile<V: Vector>(
        &self,
        tiling: Tiling,
        from: *const f32,
        place_step: usize,
        dst: &mut [f32],
        tile: usize,
    ) {
        let size = tiling.dst;
        let Outputs {
            rows,
            columns,
            corner,
        } = tiling.outputs(tile);
        for channel in (0..size.channels).step_by(V::LANES) {
            // SAFETY: reads are at the caller's places. Only the `rows` and `columns` of the tile that exist are written,
            // a register at a time, as the lanes divide the channels.
            unsafe {
                let mut half = [[V::splat(0.0); PATCH]; TILE];
                for column in 0..PATCH {
                    let mut line = [V::splat(0.0); PATCH];
                    for (row, value) in line.iter_mut().enumerate() {
                        *value = V::load(from.add((row * PATCH + column) * place_step + channel));
                    }
                    for (half, value) in half.iter_mut().zip(output_line(line)) {
                        half[column] = value;
                    }
                }
                let whole = rows == TILE && columns == TILE;
                for (row, line) in half.into_iter().enumerate() {
                    if !whole && row >= rows {
                        break;
                    }
                    let line = output_line(line);
                    let at = corner + row * size.width * size.channels + channel;
                    let to = dst.as_mut_ptr().add(at);
                    for (column, value) in line.into_iter().enumerate() {
                        if whole || column < columns {
                            self.store(value, channel, to.add(column * size.channels));
                        }
                    }
                }
            }
        }
    }

    /// # Safety
    /// The vector's instruction set is present. The bias has a register from `channel` on, and `to` is valid for reads and
    /// writes of one.
    #[inline(always)]
    unsafe fn store<V: Vector>(&self, value: V, channel: usize, to: *mut f32) {
        // SAFETY: as the caller promises.
        unsafe {
            let mut value = value;
            if let Some(bias) = self.bias {
                value = value.add(V::load(bias.as_ptr().add(channel)));
            }
            if self.accumulate {
                value = value.add(V::load(to));
            }
            if self.relu {
                value = value.max(V::splat(0.0));
            }
            value.store(to);
        }
    }
}

/// One line times `A`, from 6 places to 4 outputs.
///
/// # Safety
/// The vector's instruction set is present.
#[inline(always)]
unsafe fn output_line<V: Vector>(m: [V; PATCH]) -> [V; TILE] {
    // SAFETY: the instruction set is present; no pointer is involved.
    unsafe {
        let (two, four, eight) = (V::splat(2.0), V::splat(4.0), V::splat(8.0));
        let near_sum = m[1].add(m[2]);
        let near_difference = m[1].sub(m[2]);
        let far_sum = m[3].add(m[4]);
        let far_difference = m[3].sub(m[4]);
        [
            m[0].add(near_sum).add(far_sum),
            far_difference.mul_add(two, near_difference),
            far_sum.mul_add(four, near_sum),
            far_difference.mul_add(eight, near_difference).add(m[5]),
        ]
    }
}
