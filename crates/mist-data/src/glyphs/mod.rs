//! Scenes of built-in stroke shapes: the demo's data, which needs no download.

mod draw;
mod font;

use draw::{Affine, TILE_PX};
pub(crate) use font::NAMES;
use font::SHAPES;

use crate::bridson::Spot;
use crate::image::Image;
use crate::layout::{BASE_BOX_PX, Layout};
use crate::random::SceneRng;
use crate::scene::{Instance, Scene, square_around};

/// Half the size of an upright shape of middle size: leaves room in the box to turn and to grow.
const HALF_SIZE_PX: f64 = 0.36 * BASE_BOX_PX as f64;

const SIZE_RANGE: [f64; 2] = [0.85, 1.15];
const MAX_ROTATION_RAD: f64 = 15.0 * std::f64::consts::PI / 180.0;
const MAX_SHEAR: f64 = 0.12;
const THICKNESS_RANGE_PX: [f64; 2] = [1.5, 2.6];
const CONTRAST_RANGE: [f64; 2] = [0.6, 1.0];
const NOISE_DEVIATION: f32 = 0.04;

/// Draws a scene: glyphs add up, noise is added, and the sum is clipped once.
pub(crate) fn draw(layout: &Layout, rng: &mut SceneRng) -> Scene {
    let side_px = layout.canvas_px as usize;
    let mut image = Image::filled(side_px, side_px, 1, 0.0);
    let instances = layout
        .place(rng)
        .into_iter()
        .map(|spot| {
            let label = rng.below(NAMES.len());
            add_glyph(&mut image, label, spot, rng);
            Instance {
                bounds: square_around(spot.x_px as f32, spot.y_px as f32, BASE_BOX_PX as f32),
                label,
                scale: 1.0,
                weight: 1.0,
            }
        })
        .collect();
    for pair in image.pixels.chunks_mut(2) {
        for (value, noise) in pair.iter_mut().zip(rng.normals()) {
            *value = (*value + NOISE_DEVIATION * noise).clamp(0.0, 1.0);
        }
    }
    Scene { image, instances }
}

fn add_glyph(image: &mut Image, label: usize, centre: Spot, rng: &mut SceneRng) {
    let mut between = |[low, high]: [f64; 2]| rng.within(low, high);
    let affine = Affine {
        half_size_px: HALF_SIZE_PX * between(SIZE_RANGE),
        rotation_rad: between([-MAX_ROTATION_RAD, MAX_ROTATION_RAD]),
        shear: between([-MAX_SHEAR, MAX_SHEAR]),
    };
    let thickness_px = between(THICKNESS_RANGE_PX);
    let contrast = between(CONTRAST_RANGE) as f32;
    let tile = draw::cover(&SHAPES[label], affine, thickness_px);
    let half_px = TILE_PX as i32 / 2;
    for (place, &coverage) in tile.iter().enumerate() {
        let x_px = centre.x_px - half_px + (place % TILE_PX) as i32;
        let y_px = centre.y_px - half_px + (place / TILE_PX) as i32;
        let inside = |offset_px: i32, limit_px: usize| (0..limit_px as i32).contains(&offset_px);
        if coverage > 0.0 && inside(x_px, image.width_px) && inside(y_px, image.height_px) {
            let offset = image.offset(x_px as usize, y_px as usize, 0);
            image.pixels[offset] += contrast * coverage;
        }
    }
}
