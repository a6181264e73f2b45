//! What H sees of an image: objects pasted beside others, then all of it enlarged or shrunk, mirrored and dimmed.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::geometry::Keypoint;
use crate::proposals::{Objects, Plane};
use crate::settings::{Bounds, within};

/// Tries to find room for a pasted object.
const TRIES: usize = 8;
/// Distance of a pasted object to the one that it is put beside, in the mean of both sides.
const BESIDE: std::ops::Range<f32> = 0.65..1.05;
/// No other centre is nearer than this, in the same unit.
const MIN_APART: f32 = 0.6;
/// Share of pasted objects that are put beside another one.
const BESIDE_FRAC: f32 = 0.8;

/// How images are changed in training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Augmentation {
    /// Enlarged or shrunk by up to so many octaves.
    pub zoom_octaves: f32,
    /// At most so many objects are pasted.
    pub pastes: usize,
    /// Brightness of the image, and of each pasted object, changes by up to this share.
    pub dimming_frac: f32,
    /// Standard deviation of added noise, at most.
    pub noise: f32,
}

impl Default for Augmentation {
    fn default() -> Self {
        Self {
            zoom_octaves: 0.35,
            pastes: 12,
            dimming_frac: 0.3,
            noise: 0.02,
        }
    }
}

impl Augmentation {
    pub(super) fn check(&self) -> Result<(), Error> {
        within([
            ("augmentation.zoom_octaves", self.zoom_octaves, 0.0..=2.0),
            ("augmentation.dimming_frac", self.dimming_frac, 0.0..=0.9),
            ("augmentation.noise", self.noise, 0.0..=1.0),
        ])?;
        Bounds::new("augmentation.pastes", 0, 1000).check(self.pastes)
    }

    /// An image of the same size, plane by plane, and its objects.
    pub(super) fn apply(
        &self,
        image: &[Plane],
        objects: &Objects,
        base_box_px: f32,
        random: &mut ChaCha8Rng,
    ) -> (Vec<Plane>, Vec<Keypoint>) {
        let mut pasted = image.to_vec();
        let mut keypoints = objects.keypoints.clone();
        for _ in 0..random.random_range(0..=self.pastes) {
            self.paste(
                &mut pasted,
                &mut keypoints,
                image,
                objects,
                base_box_px,
                random,
            );
        }
        let (mut seen, keypoints) = self.zoomed(&pasted, &keypoints, random);
        let brightness = self.brightness(random);
        let noise = random.random_range(0.0..=1.0) * self.noise;
        for value in seen.iter_mut().flat_map(|plane| &mut plane.values) {
            *value = (*value * brightness + noise * normal(random)).clamp(0.0, 1.0);
        }
        (seen, keypoints)
    }

    fn brightness(&self, random: &mut ChaCha8Rng) -> f32 {
        1.0 + self.dimming_frac * random.random_range(-1.0..=1.0)
    }

    /// Copies one of the objects, mirrored somehow, to a place that has room for it.
    fn paste(
        &self,
        to: &mut [Plane],
        keypoints: &mut Vec<Keypoint>,
        image: &[Plane],
        objects: &Objects,
        base_box_px: f32,
        random: &mut ChaCha8Rng,
    ) {
        if objects.keypoints.is_empty() {
            return;
        }
        let index = random.random_range(0..objects.keypoints.len());
        let source = objects.keypoints[index];
        let (width, height) = sides(image);
        let room = (0..TRIES).find_map(|_| {
            let place = match random.random_range(0.0..1.0) < BESIDE_FRAC {
                true => beside(keypoints, source, base_box_px, random),
                false => (
                    random.random_range(0.0..width as f32),
                    random.random_range(0.0..height as f32),
                ),
            };
            let apart = |other: &Keypoint| {
                let mean_px = (other.scale + source.scale) / 2.0 * base_box_px;
                (other.x_px - place.0).hypot(other.y_px - place.1) > MIN_APART * mean_px
            };
            let inside =
                (0.0..width as f32).contains(&place.0) && (0.0..height as f32).contains(&place.1);
            (inside && keypoints.iter().all(apart)).then_some(place)
        });
        let Some((x_px, y_px)) = room else { return };
        let brightness = self.brightness(random);
        let symmetry = random.random_range(0..8u8);
        let reach = (source.scale * base_box_px * 1.5).ceil() as isize;
        let (from_x, from_y) = (source.x_px as isize, source.y_px as isize);
        let inside = |x: isize, y: isize| {
            let inside = (0..width as isize).contains(&x) && (0..height as isize).contains(&y);
            inside.then(|| y as usize * width + x as usize)
        };
        for dy in -reach..=reach {
            for dx in -reach..=reach {
                let (sx, sy) = symmetric(symmetry, (dx, dy));
                let from = inside(from_x + sx, from_y + sy);
                let target = inside(x_px as isize + dx, y_px as isize + dy);
                if let (Some(from), Some(target)) = (from, target)
                    && objects.owners[from] == u32::try_from(index).ok()
                {
                    for (to, image) in to.iter_mut().zip(image) {
                        let value = image.values[from] * brightness;
                        to.values[target] = to.values[target].max(value);
                    }
                }
            }
        }
        keypoints.push(Keypoint {
            x_px: x_px.floor() + 0.5,
            y_px: y_px.floor() + 0.5,
            scale: source.scale,
        });
    }

    /// The image around a random place, enlarged or shrunk, and mirrored; what is beyond it is dark.
    fn zoomed(
        &self,
        image: &[Plane],
        keypoints: &[Keypoint],
        random: &mut ChaCha8Rng,
    ) -> (Vec<Plane>, Vec<Keypoint>) {
        let (width, height) = sides(image);
        let zoom = (self.zoom_octaves * random.random_range(-1.0..=1.0)).exp2();
        let mut corner = |side: usize| {
            let hidden = side as f32 - side as f32 / zoom;
            hidden * random.random_range(0.0..=1.0)
        };
        let (left, top) = (corner(width), corner(height));
        let (mirror_x, mirror_y) = (random.random_bool(0.5), random.random_bool(0.5));
        let mirrored = |place: f32, side: usize, mirror: bool| match mirror {
            true => side as f32 - place,
            false => place,
        };
        let zoomed = |plane: &Plane| {
            let mut values = Vec::with_capacity(plane.values.len());
            for y in 0..height {
                for x in 0..width {
                    let x_px = mirrored(x as f32 + 0.5, width, mirror_x) / zoom + left;
                    let y_px = mirrored(y as f32 + 0.5, height, mirror_y) / zoom + top;
                    values.push(plane.bilinear(x_px, y_px, 0.0));
                }
            }
            Plane {
                values,
                width_px: width,
            }
        };
        let moved = keypoints.iter().map(|keypoint| Keypoint {
            x_px: mirrored((keypoint.x_px - left) * zoom, width, mirror_x),
            y_px: mirrored((keypoint.y_px - top) * zoom, height, mirror_y),
            scale: keypoint.scale * zoom,
        });
        let inside = |keypoint: &Keypoint| {
            (0.0..width as f32).contains(&keypoint.x_px)
                && (0.0..height as f32).contains(&keypoint.y_px)
        };
        let planes = image.iter().map(zoomed).collect();
        (planes, moved.filter(inside).collect())
    }
}

/// Width and height.
fn sides(image: &[Plane]) -> (usize, usize) {
    let first = image.first();
    first.map_or((0, 0), |plane| (plane.width_px, plane.height_px()))
}

/// A place where an object touches a random other one.
fn beside(
    keypoints: &[Keypoint],
    source: Keypoint,
    base_box_px: f32,
    random: &mut ChaCha8Rng,
) -> (f32, f32) {
    let other = keypoints[random.random_range(0..keypoints.len())];
    let mean_px = (other.scale + source.scale) / 2.0 * base_box_px;
    let away_px = mean_px * random.random_range(BESIDE);
    let angle: f32 = random.random_range(0.0..std::f32::consts::TAU);
    (
        other.x_px + away_px * angle.cos(),
        other.y_px + away_px * angle.sin(),
    )
}

/// One of the eight symmetries of the square.
fn symmetric(symmetry: u8, (x, y): (isize, isize)) -> (isize, isize) {
    let x = if symmetry & 1 == 0 { x } else { -x };
    let y = if symmetry & 2 == 0 { y } else { -y };
    if symmetry & 4 == 0 { (x, y) } else { (y, x) }
}

/// A standard normal number (Box and Muller, 1958).
fn normal(random: &mut ChaCha8Rng) -> f32 {
    let radius = (-2.0 * random.random_range(f32::MIN_POSITIVE..1.0).ln()).sqrt();
    radius * random.random_range(0.0..std::f32::consts::TAU).cos()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::proposals::Discs;

    fn disc(x: f32, y: f32) -> Plane {
        let value = |place: usize| {
            let away = ((place % 96) as f32 + 0.5 - x).hypot((place / 96) as f32 + 0.5 - y);
            if away < 7.0 { 0.6 } else { 0.0 }
        };
        Plane {
            values: (0..96 * 96).map(value).collect(),
            width_px: 96,
        }
    }

    #[test]
    fn keypoints_follow_their_objects() {
        let image = disc(40.5, 50.5);
        let objects = Discs::default().objects(&image, 20.0);
        for seed in 0..20 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let (seen, keypoints) = Augmentation::default().apply(
                std::slice::from_ref(&image),
                &objects,
                20.0,
                &mut random,
            );
            let found = Discs::default().objects(&seen[0], 20.0).keypoints;
            // Of an object whose centre is beyond the edge, a part may show.
            let whole = |found: &&Keypoint| {
                let away = |px: f32| (12.0..84.0).contains(&px);
                away(found.x_px) && away(found.y_px)
            };
            for found in found.iter().filter(whole) {
                let near = |k: &&Keypoint| (k.x_px - found.x_px).hypot(k.y_px - found.y_px) < 6.0;
                assert!(keypoints.iter().any(|k| near(&k)), "seed {seed}: {found:?}");
            }
        }
    }
}
