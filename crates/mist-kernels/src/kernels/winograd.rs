//! 3x3 convolution by Winograd's F(4x4, 3x3): a quarter of the multiplications.
//!
//! Tiles of 6x6 source pixels give 4x4 outputs: `Y = A^T [(G g G^T) * (B^T d B)] A`, where the product in the
//! middle is, for each of the 36 places, a matrix product over channels (Lavin and Gray, 2016). The gradient of
//! the weights uses the same transforms: `dg = G^T [sum over tiles of (B^T d B) x (A dY A^T)] G`.

use super::direct::Rows;
use super::outer::Products;
use super::run::{Side, Tap};
use crate::simd::{Kernel, Vector};

/// Places of a transformed tile.
pub(crate) const PLACES: usize = 36;
/// Side of a tile of outputs.
const TILE: usize = 4;
/// Side of a tile of sources.
const PATCH: usize = 6;
/// Values of a transformed batch of tiles that should stay in cache.
const BATCH_VALUES: usize = 48 * 1024;

/// `G`, from a 3-tap kernel to 6 places.
const KERNEL: [[f32; 3]; PATCH] = [
    [1.0 / 4.0, 0.0, 0.0],
    [-1.0 / 6.0, -1.0 / 6.0, -1.0 / 6.0],
    [-1.0 / 6.0, 1.0 / 6.0, -1.0 / 6.0],
    [1.0 / 24.0, 1.0 / 12.0, 1.0 / 6.0],
    [1.0 / 24.0, -1.0 / 12.0, 1.0 / 6.0],
    [0.0, 0.0, 1.0],
];

/// Weights that are transformed at once, so that the inner loops run over neighbours.
const STRIP: usize = 16;

/// Turns slabs `[3x3][in][out]` into `[36][in][out]`.
pub(crate) fn transform_weights(slabs: &[f32], places: &mut [f32], flipped: bool) {
    let slab_len = slabs.len() / 9;
    for start in (0..slab_len).step_by(STRIP) {
        let width = STRIP.min(slab_len - start);
        let mut half = [[[0.0f32; STRIP]; 3]; PATCH];
        for tap in 0..9 {
            let from = if flipped { 8 - tap } else { tap };
            let strip = &slabs[from * slab_len + start..][..width];
            for (place, kernel) in KERNEL.iter().enumerate() {
                add_scaled(&mut half[place][tap % 3], strip, kernel[tap / 3]);
            }
        }
        for (row, half) in half.iter().enumerate() {
            for (column, kernel) in KERNEL.iter().enumerate() {
                let mut sums = [0.0f32; STRIP];
                for (half, &factor) in half.iter().zip(kernel) {
                    add_scaled(&mut sums, half, factor);
                }
                places[(row * PATCH + column) * slab_len + start..][..width]
                    .copy_from_slice(&sums[..width]);
            }
        }
    }
}

/// Adds the gradient of `[36][in][out]` to that of `[3x3][in][out]`.
pub(crate) fn transform_weight_gradient(places: &[f32], slabs: &mut [f32]) {
    let slab_len = slabs.len() / 9;
    for start in (0..slab_len).step_by(STRIP) {
        let width = STRIP.min(slab_len - start);
        let mut half = [[[0.0f32; STRIP]; PATCH]; 3];
        for place in 0..PLACES {
            let strip = &places[place * slab_len + start..][..width];
            for (tap, half) in half.iter_mut().enumerate() {
                add_scaled(&mut half[place % PATCH], strip, KERNEL[place / PATCH][tap]);
            }
        }
        for (row, half) in half.iter().enumerate() {
            for column in 0..3 {
                let mut sums = [0.0f32; STRIP];
                for (half, kernel) in half.iter().zip(&KERNEL) {
                    add_scaled(&mut sums, half, kernel[column]);
                }
                let to = &mut slabs[(row * 3 + column) * slab_len + start..][..width];
                add_scaled(to, &sums[..width], 1.0);
            }
        }
    }
}

fn add_scaled(to: &mut [f32], from: &[f32], factor: f32) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}

/// Where the tiles of a layer lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tiling {
    pub src: Side,
    pub dst: Side,
    /// Pixels of zeros around the source.
    pub frame: usize,
}

impl Tiling {
    fn across(self) -> usize {
        self.dst.width.div_ceil(TILE)
    }

    fn per_sample(self) -> usize {
        self.across() * self.dst.height.div_ceil(TILE)
    }

    /// Sample, row and column of a tile's first output pixel.
    #[inline(always)]
    fn place(self, tile: usize) -> (usize, usize, usize) {
        let (sample, rest) = (tile / self.per_sample(), tile % self.per_sample());
        (
            sample,
            rest / self.across() * TILE,
            rest % self.across() * TILE,
        )
    }

    /// Tiles that are transformed together.
    fn batch(self) -> usize {
        let widest = self.src.channels.max(self.dst.channels);
        (BATCH_VALUES / (PLACES * widest)).clamp(12, 96) / 12 * 12
    }

    /// Scratch that a pass over this layer needs, in values.
    pub fn scratch_len(self) -> usize {
        self.batch() * PLACES * (self.src.channels + self.dst.channels)
    }
}

/// A norm, and perhaps a rectifier, applied to a source while it is read.
#[derive(Clone, Copy)]
pub(crate) struct OnLoad<'a> {
    /// Per sample all factors, then all offsets.
    pub affine: &'a [f32],
    pub relu: bool,
}

/// `dst = src * weights + bias`.
pub(crate) struct WinogradConvolution<'a> {
    pub tiling: Tiling,
    pub samples: usize,
    pub src: &'a [f32],
    pub on_load: Option<OnLoad<'a>>,
    pub dst: &'a mut [f32],
    /// `[36][in][out]`, outputs padded.
    pub weights: &'a [f32],
    pub in_channels: usize,
    pub bias: Option<&'a [f32]>,
    pub relu: bool,
    pub accumulate: bool,
    pub scratch: &'a mut [f32],
}

impl Kernel for WinogradConvolution<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let tiling = self.tiling;
        let (batch, tiles) = (tiling.batch(), tiling.per_sample() * self.samples);
        let (c_in, c_out) = (tiling.src.channels, tiling.dst.channels);
        let (sources, products) = self.scratch.split_at_mut(batch * PLACES * c_in);
        let taps = [Tap { src: 0, slab: 0 }];
        let mut first = 0;
        while first < tiles {
            let count = batch.min(tiles - first);
            for tile in 0..count {
                unsafe {
                    let to = sources.as_mut_ptr().add(tile * c_in);
                    let source = Source {
                        map: self.src,
                        on_load: self.on_load,
                    };
                    source.transform::<V>(tiling, first + tile, to, batch * c_in);
                }
            }
            for place in 0..PLACES {
                let mut out = 0;
                while out < c_out {
                    unsafe {
                        let weights = self
                            .weights
                            .as_ptr()
                            .add(place * self.in_channels * c_out + out);
                        let rows = Rows {
                            taps: &taps,
                            slab_len: 0,
                            weights,
                            weight_step: c_out,
                            in_channels: self.in_channels,
                            src_step: c_in,
                            dst_step: c_out,
                            bias: None,
                            relu: false,
                            accumulate: false,
                        };
                        let from = sources.as_ptr().add(place * batch * c_in);
                        let to = products.as_mut_ptr().add(place * batch * c_out + out);
                        if c_out - out >= 2 * V::LANES {
                            rows.all::<V, 2>(from, to, count);
                            out += 2 * V::LANES;
                        } else {
                            rows.all::<V, 1>(from, to, count);
                            out += V::LANES;
                        }
                    }
                }
            }
            for tile in 0..count {
                unsafe {
                    let from = products.as_ptr().add(tile * c_out);
                    let finish = Finish {
                        bias: self.bias,
                        relu: self.relu,
                        accumulate: self.accumulate,
                    };
                    finish.tile::<V>(tiling, from, batch * c_out, self.dst, first + tile);
                }
            }
            first += count;
        }
    }
}

/// `weights += gradient`, all in the transformed domain.
pub(crate) struct WinogradWeightGradient<'a> {
    pub tiling: Tiling,
    pub samples: usize,
    pub src: &'a [f32],
    pub on_load: Option<OnLoad<'a>>,
    pub gradient: &'a [f32],
    /// `[36][in][out]`.
    pub weights: &'a mut [f32],
    pub in_channels: usize,
    pub scratch: &'a mut [f32],
}

impl Kernel for WinogradWeightGradient<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let tiling = self.tiling;
        let (batch, tiles) = (tiling.batch(), tiling.per_sample() * self.samples);
        let (c_in, c_out) = (tiling.src.channels, tiling.dst.channels);
        let (sources, gradients) = self.scratch.split_at_mut(batch * PLACES * c_in);
        let mut first = 0;
        while first < tiles {
            let count = batch.min(tiles - first);
            for tile in 0..count {
                unsafe {
                    let to = sources.as_mut_ptr().add(tile * c_in);
                    let source = Source {
                        map: self.src,
                        on_load: self.on_load,
                    };
                    source.transform::<V>(tiling, first + tile, to, batch * c_in);
                    let to = gradients.as_mut_ptr().add(tile * c_out);
                    transform_gradient::<V>(tiling, self.gradient, first + tile, to, batch * c_out);
                }
            }
            for place in 0..PLACES {
                unsafe {
                    let products = Products {
                        src: sources.as_ptr().add(place * batch * c_in),
                        src_step: c_in,
                        gradient: gradients.as_ptr().add(place * batch * c_out),
                        gradient_step: c_out,
                        weights: self
                            .weights
                            .as_mut_ptr()
                            .add(place * self.in_channels * c_out),
                        in_channels: self.in_channels,
                        out_channels: c_out,
                        pixels: count,
                    };
                    products.add::<V>();
                }
            }
            first += count;
        }
    }
}

/// A map as a convolution reads it.
struct Source<'a> {
    map: &'a [f32],
    on_load: Option<OnLoad<'a>>,
}

impl Source<'_> {
    /// `B^T d B` of one tile; place `p` is written at `to + p * place_step`.
    #[inline(always)]
    unsafe fn transform<V: Vector>(
        &self,
        tiling: Tiling,
        tile: usize,
        to: *mut f32,
        place_step: usize,
    ) {
        let side = tiling.src;
        let (sample, y, x) = tiling.place(tile);
        let (top, left) = (
            y as isize - tiling.frame as isize,
            x as isize - tiling.frame as isize,
        );
        let inside = top >= 0
            && left >= 0
            && top + PATCH as isize <= side.height as isize
            && left + PATCH as isize <= side.width as isize;
        let corner = (sample * side.len()) as isize
            + (top * side.width as isize + left) * side.channels as isize;
        let corner = self.map.as_ptr().wrapping_offset(corner);
        let channels = side.channels;
        let (affine, floor) = match self.on_load {
            Some(on_load) => (
                on_load.affine[sample * 2 * channels..][..2 * channels].as_ptr(),
                if on_load.relu { 0.0 } else { f32::NEG_INFINITY },
            ),
            None => (std::ptr::null(), 0.0),
        };
        for channel in (0..side.channels).step_by(V::LANES) {
            unsafe {
                let floor = V::splat(floor);
                let (mut factor, mut offset) = (floor, floor);
                if !affine.is_null() {
                    factor = V::load(affine.add(channel));
                    offset = V::load(affine.add(channels + channel));
                }
                let mut tile = [[V::splat(0.0); PATCH]; PATCH];
                for (row, line) in tile.iter_mut().enumerate() {
                    let from = corner.wrapping_add(row * side.width * side.channels + channel);
                    if inside {
                        for (column, value) in line.iter_mut().enumerate() {
                            *value = V::load(from.wrapping_add(column * side.channels));
                            if !affine.is_null() {
                                *value = value.mul_add(factor, offset).max(floor);
                            }
                        }
                    } else {
                        let y = top + row as isize;
                        if y < 0 || y >= side.height as isize {
                            continue;
                        }
                        for (column, value) in line.iter_mut().enumerate() {
                            let x = left + column as isize;
                            if x >= 0 && x < side.width as isize {
                                *value = V::load(from.wrapping_add(column * side.channels));
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
#[inline(always)]
unsafe fn source_line<V: Vector>(d: [V; PATCH]) -> [V; PATCH] {
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

/// `A dY A^T` of one tile of gradients.
#[inline(always)]
unsafe fn transform_gradient<V: Vector>(
    tiling: Tiling,
    gradient: &[f32],
    tile: usize,
    to: *mut f32,
    place_step: usize,
) {
    let side = tiling.dst;
    let (sample, y, x) = tiling.place(tile);
    let rows = TILE.min(side.height - y);
    let columns = TILE.min(side.width - x);
    let corner = sample * side.len() + (y * side.width + x) * side.channels;
    for channel in (0..side.channels).step_by(V::LANES) {
        unsafe {
            let mut half = [[V::splat(0.0); TILE]; PATCH];
            for column in 0..columns {
                let mut line = [V::splat(0.0); TILE];
                for (row, value) in line.iter_mut().enumerate().take(rows) {
                    let at = corner + (row * side.width + column) * side.channels + channel;
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
#[inline(always)]
unsafe fn gradient_line<V: Vector>(g: [V; TILE]) -> [V; PATCH] {
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

struct Finish<'a> {
    bias: Option<&'a [f32]>,
    relu: bool,
    accumulate: bool,
}

impl Finish<'_> {
    /// `A^T m A` of one tile, written to the pixels that exist.
    #[inline(always)]
    unsafe fn tile<V: Vector>(
        &self,
        tiling: Tiling,
        from: *const f32,
        place_step: usize,
        dst: &mut [f32],
        tile: usize,
    ) {
        let side = tiling.dst;
        let (sample, y, x) = tiling.place(tile);
        let rows = TILE.min(side.height - y);
        let columns = TILE.min(side.width - x);
        let corner = sample * side.len() + (y * side.width + x) * side.channels;
        for channel in (0..side.channels).step_by(V::LANES) {
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
                    let at = corner + row * side.width * side.channels + channel;
                    let to = dst.as_mut_ptr().add(at);
                    for (column, value) in line.into_iter().enumerate() {
                        if whole || column < columns {
                            self.store(value, channel, to.add(column * side.channels));
                        }
                    }
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn store<V: Vector>(&self, value: V, channel: usize, to: *mut f32) {
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
#[inline(always)]
unsafe fn output_line<V: Vector>(m: [V; PATCH]) -> [V; TILE] {
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
