//! 3x3 convolution by Winograd's F(4x4, 3x3): a quarter of the multiplications.
//!
//! Tiles of 6x6 source pixels give 4x4 outputs: `Y = A^T [(G g G^T) * (B^T d B)] A`, where the product in the
//! middle is, for each of the 36 places, a matrix product over channels (Lavin and Gray, 2016). The gradient of
//! the weights uses the same transforms: `dg = G^T [sum over tiles of (B^T d B) x (A dY A^T)] G`.

mod tiles;
mod weights;

pub(crate) use weights::{transform_weight_gradient, transform_weights};

use tiles::{Finish, Source, transform_gradient};

use super::direct::Rows;
use super::on_load::OnLoad;
use super::outer::Products;
use super::run::{MapSize, Tap};
use crate::network::Activation;
use crate::simd::{Kernel, Vector};

/// Places of a transformed tile.
pub(crate) const PLACES: usize = 36;
/// Side of a tile of outputs.
const TILE: usize = 4;
/// Side of a tile of sources.
const PATCH: usize = 6;
/// Values of a transformed batch of tiles that should stay in cache.
const BATCH_VALUES: usize = 48 * 1024;

/// Where the tiles of a layer lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tiling {
    pub src: MapSize,
    pub dst: MapSize,
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

    /// The pixels that a tile writes.
    #[inline(always)]
    fn outputs(self, tile: usize) -> Outputs {
        let (sample, y, x) = self.place(tile);
        Outputs {
            rows: TILE.min(self.dst.height - y),
            columns: TILE.min(self.dst.width - x),
            corner: sample * self.dst.len() + (y * self.dst.width + x) * self.dst.channels,
        }
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

/// The part of a tile of outputs that exists, and the offset of its first pixel.
struct Outputs {
    rows: usize,
    columns: usize,
    corner: usize,
}

/// `dst = src * weights + bias`.
pub(crate) struct WinogradConvolution<'a> {
    pub tiling: Tiling,
    pub samples: usize,
    /// `samples` maps of the tiling's source.
    pub src: &'a [f32],
    pub on_load: Option<OnLoad<'a>>,
    /// `samples` maps of the tiling's outputs.
    pub dst: &'a mut [f32],
    /// `[36][in][out]`, outputs padded.
    pub weights: &'a [f32],
    /// Without padding.
    pub in_channels: usize,
    /// One value per padded output; nothing means zero.
    pub bias: Option<&'a [f32]>,
    pub relu: bool,
    pub accumulate: bool,
    /// As [`Tiling::scratch_len`].
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
                // SAFETY: `first + tile` is a tile of the samples. `sources` holds `[36][batch][c_in]`, of which this
                // writes the tile's channels at each place.
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
                    // SAFETY: `count` of the place's `batch` rows of `sources` and of `products`, `[36][batch][c_out]`,
                    // are multiplied with its `[in][out]` weights. One or two registers of outputs are left from `out`
                    // on, as the lanes divide `c_out`.
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
                            activation: Activation::None,
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
                // SAFETY: `first + tile` is a tile of the samples, whose products are at each place of `products`.
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
    /// `samples` maps of the tiling's source.
    pub src: &'a [f32],
    pub on_load: Option<OnLoad<'a>>,
    /// `samples` maps of the tiling's outputs.
    pub gradient: &'a [f32],
    /// `[36][in][out]`, outputs padded.
    pub weights: &'a mut [f32],
    /// Without padding.
    pub in_channels: usize,
    /// As [`Tiling::scratch_len`].
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
                // SAFETY: `first + tile` is a tile of the samples. `sources` holds `[36][batch][c_in]` and `gradients`
                // `[36][batch][c_out]`, of which this writes the tile's channels at each place.
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
                // SAFETY: `count` of the place's `batch` rows of both factors were written above, and the weights hold
                // an `[in][out]` slab for each place.
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
