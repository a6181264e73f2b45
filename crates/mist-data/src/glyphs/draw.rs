//! Strokes to pixels.

use super::font::{Corner, Stroke};

/// Side of the tile a glyph is drawn on: its box and what may stick out of it.
pub(super) const TILE_PX: usize = 32;

/// Maps a shape to a tile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Affine {
    pub half_size_px: f64,
    pub rotation_rad: f64,
    pub shear: f64,
}

impl Affine {
    fn apply(&self, corner: Corner) -> Corner {
        let (sin, cos) = libm::sincos(self.rotation_rad);
        let sheared_x = corner.x + self.shear * corner.y;
        let middle_px = TILE_PX as f64 / 2.0;
        Corner {
            x: middle_px + self.half_size_px * (cos * sheared_x - sin * corner.y),
            y: middle_px + self.half_size_px * (sin * sheared_x + cos * corner.y),
        }
    }
}

/// How much of each tile pixel the strokes cover: a ramp one pixel wide at their edge.
pub(super) fn cover(strokes: &[Stroke], affine: Affine, thickness_px: f64) -> Vec<f32> {
    let mut tile = vec![0.0_f32; TILE_PX * TILE_PX];
    for stroke in strokes {
        let corners: Vec<Corner> = stroke.iter().map(|&corner| affine.apply(corner)).collect();
        for ends in corners.windows(2) {
            cover_segment(&mut tile, ends[0], ends[1], thickness_px / 2.0);
        }
    }
    tile
}

/// Only the pixels around a segment are looked at, which makes fine curves as cheap as lines.
fn cover_segment(tile: &mut [f32], from: Corner, to: Corner, half_px: f64) {
    let reach_px = half_px + 1.0;
    let span = |a: f64, b: f64| {
        let first = (a.min(b) - reach_px).floor().clamp(0.0, TILE_PX as f64) as usize;
        let last = (a.max(b) + reach_px).ceil().clamp(0.0, TILE_PX as f64) as usize;
        first..last
    };
    for row in span(from.y, to.y) {
        for column in span(from.x, to.x) {
            let pixel = Corner {
                x: column as f64 + 0.5,
                y: row as f64 + 0.5,
            };
            let coverage = (half_px + 0.5 - distance(pixel, from, to)).clamp(0.0, 1.0) as f32;
            let value = &mut tile[row * TILE_PX + column];
            *value = value.max(coverage);
        }
    }
}

fn distance(point: Corner, from: Corner, to: Corner) -> f64 {
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let along = ((point.x - from.x) * dx + (point.y - from.y) * dy) / (dx * dx + dy * dy);
    let along = along.clamp(0.0, 1.0);
    let (off_x, off_y) = (point.x - from.x - along * dx, point.y - from.y - along * dy);
    (off_x * off_x + off_y * off_y).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glyphs::font::SHAPES;

    const UPRIGHT: Affine = Affine {
        half_size_px: 8.0,
        rotation_rad: 0.0,
        shear: 0.0,
    };

    #[test]
    fn ink_is_length_times_thickness() {
        let stroke = vec![Corner { x: -1.0, y: 0.0 }, Corner { x: 1.0, y: 0.0 }];
        let ink: f32 = cover(&[stroke], UPRIGHT, 2.0).iter().sum();
        assert!(
            (ink - (16.0 * 2.0 + std::f32::consts::PI)).abs() < 1.0,
            "{ink}"
        );
    }

    #[test]
    fn no_two_shapes_are_alike() {
        let tiles: Vec<Vec<f32>> = SHAPES
            .iter()
            .map(|shape| cover(shape, UPRIGHT, 2.0))
            .collect();
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
        for (place, tile) in tiles.iter().enumerate() {
            for other in &tiles[..place] {
                let cosine = dot(tile, other) / (dot(tile, tile) * dot(other, other)).sqrt();
                assert!(cosine < 0.8, "{cosine}");
            }
        }
    }
}
